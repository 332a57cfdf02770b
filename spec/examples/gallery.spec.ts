import { readFileSync } from 'node:fs';
import { FAULTS, simulate, SimulationError } from 'kreconciler/testing';
import { describe, expect, it } from 'vitest';
import { exhibit, gallery, linesOf } from '../../examples/gallery/gallery.js';

/** All of them would take minutes at each `npm test`. */
const RUNS = process.env['CI'] === undefined ? 500 : 10_000;

/** The report of the bug. */
async function caught(name: string): Promise<SimulationError> {
  const error: unknown = await simulate(await exhibit(name, 'bug')).catch((error: unknown) => error);
  expect(error).toBeInstanceOf(SimulationError);
  return error as SimulationError;
}

/** How many lines of one text are not in the other, where as many as possible stand for each other in order. */
function differing(a: readonly string[], b: readonly string[]): number {
  let row = new Array<number>(b.length + 1).fill(0);
  for (const line of a) {
    const next = [0];
    b.forEach((other, i) => next.push(line === other ? row[i]! + 1 : Math.max(row[i + 1]!, next[i]!)));
    row = next;
  }
  return Math.max(a.length, b.length) - row.at(-1)!;
}

describe.each(gallery)('$name', ({ name, needs }) => {
  it('should be found within 1,000 runs, and shrunk to a handful of things', async () => {
    const { schedule, message } = await caught(name);
    expect(schedule.changes.length + schedule.faults.length).toBeLessThanOrEqual(5);
    expect(message).toMatch(/To see it again: simulate\(scenario, \{ seed: \d+ \}\)/);
  }, 30_000);

  it('should be shown again by its seed, and by its schedule', async () => {
    const first = await caught(name);
    const scenario = await exhibit(name, 'bug');
    const bySeed: unknown = await simulate(scenario, { seed: first.seed }).catch((error: unknown) => error);
    expect((bySeed as Error).message.replace(/\(run \d+\)/, '')).toBe(first.message.replace(/\(run \d+\)/, ''));
    await expect(simulate(scenario, { seed: first.seed, schedule: first.schedule })).rejects.toMatchObject({
      failure: { what: first.failure.what },
    });
  }, 30_000);

  it.runIf(needs !== undefined)(
    `should go unseen without the fault \`${String(needs)}\``,
    async () => {
      const kinds = FAULTS.filter((kind) => kind !== needs);
      await expect(simulate(await exhibit(name, 'bug'), { kinds })).resolves.toMatchObject({ runs: 1000 });
    },
    60_000,
  );

  it('should have a fixed version that differs by at most ten lines', () => {
    expect(differing(linesOf(name, 'bug'), linesOf(name, 'fixed'))).toBeLessThanOrEqual(10);
  });

  it(`should have a fixed version that passes ${RUNS.toLocaleString('en')} runs`, async () => {
    await expect(simulate(await exhibit(name, 'fixed'), { runs: RUNS })).resolves.toMatchObject({ runs: RUNS });
  }, 300_000);
});

describe('The gallery', () => {
  it('should have a row in its README for each bug, with what is wrong, the fault that shows it, and what mends it', () => {
    const readme = readFileSync(new URL('../../examples/gallery/README.md', import.meta.url), 'utf8');
    const cell = (name: string, which: 'bug' | 'fixed'): string => `[${linesOf(name, which)[0]!.replace('// ', '')}](${name}/${which}.ts)`;
    const rows = gallery.map(
      ({ name, needs }) => `| ${cell(name, 'bug')} | ${needs === undefined ? '' : `\`${needs}\``} | ${cell(name, 'fixed')} |`,
    );
    expect(readme.split('\n').filter((line) => line.startsWith('| ['))).toEqual(rows);
  });

  it('should need every kind of fault', () => {
    expect(gallery.flatMap(({ needs }) => needs ?? []).sort()).toEqual([...FAULTS].sort());
  });
});
