import { writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { parseArgs } from 'node:util';
import type { Case, Figures } from './case.js';
import { cases } from './cases/index.js';
import { contenders } from './contenders/index.js';
import { LATE, run } from './run.js';
import { sizes } from './sizes.js';
import { medianOf, ratioOf, type Rounds } from './statistics.js';
import { table } from './table.js';

const { values: options } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    case: { type: 'string', multiple: true },
    contender: { type: 'string', multiple: true },
    rounds: { type: 'string' },
    scale: { type: 'string' },
    json: { type: 'string' },
  },
});
const rounds = Number(options.rounds ?? (options.quick ? 1 : 5));
const scale = Number(options.scale ?? (options.quick ? 0.02 : 1));
const chosen = <T>(all: Readonly<Record<string, T>>, names: readonly string[] | undefined): [string, T][] => {
  for (const name of names ?? []) if (!(name in all)) throw new TypeError(`Expected one of ${Object.keys(all).join(', ')}, got ${name}`);
  return Object.entries(all).filter(([name]) => names?.includes(name) ?? true);
};

if (scale < 1)
  console.log(
    `All numbers of ids and events below are to be multiplied by ${scale}: with so few, much of the time is the warm-up of the code.\n`,
  );
const report: Record<string, unknown> = {};
const participants = await Promise.all(chosen(contenders, options.contender).map(async ([name, load]) => [name, await load()] as const));
for (const [name, { does }] of participants) console.log(`${name}: ${does}`);
for (const [name, load] of chosen(cases, options.case)) {
  const subject = await load();
  const results = await compete(name, subject);
  console.log(`\n${table(subject, results, layerOver)}`);
  report[name] = {
    title: subject.title,
    baseline: subject.baseline,
    contenders: Object.fromEntries([...results].map(([who, of]) => [who, summary(subject, of, results, layerOver(who))])),
  };
}
if (options.case === undefined) {
  report['size'] = sizes();
  console.log('\nsize of the packed ESM, minified and gzipped, without peers');
  for (const { name, size } of sizes()) console.log(`  ${name}  ${(size / 1024).toFixed(2)} KiB`);
}
if (options.json !== undefined) {
  const machine = { node: process.version, cpu: cpus()[0]?.model, cores: cpus().length };
  writeFileSync(options.json, `${JSON.stringify({ machine, rounds, scale, cases: report }, null, 2)}\n`);
}

/** The contenders take turns, so that what else the machine does hits them alike. */
async function compete(name: string, subject: Case): Promise<Map<string, Rounds>> {
  const { needs, layers = false } = subject;
  const able = participants
    .filter(([, { can, layerOver }]) => can.includes(needs) && (layers || layerOver === undefined))
    .map(([who]) => who);
  const results = new Map<string, (Figures | undefined)[]>(able.map((who) => [who, []]));
  for (let round = 0; round < rounds; round++) {
    for (const [who, taken] of results) taken.push(taken.includes(LATE) ? LATE : await run(name, who, scale, subject));
  }
  return results;
}

/** Whom it is compared to instead of the baseline. */
function layerOver(who: string): string | undefined {
  return participants.find(([name]) => name === who)?.[1].layerOver;
}

function summary({ columns, baseline }: Case, of: Rounds, all: ReadonlyMap<string, Rounds>, under: string | undefined): unknown {
  const base = all.get(under ?? baseline ?? '');
  return {
    medians: Object.fromEntries(columns.map(({ key }) => [key, medianOf(of, key)])),
    ratios: base && Object.fromEntries(columns.map(({ key }) => [key, ratioOf(of, base, key)])),
    rounds: of,
  };
}
