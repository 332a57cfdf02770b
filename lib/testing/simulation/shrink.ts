import { type Fault, byMoment, type PlannedChange, type Schedule, tieOf } from './schedule.js';

/** A schedule is tried at most so often in smaller forms; a run takes well under a millisecond. */
const BUDGET = 5000;

/**
 * Finds a smallest schedule that still fails: first it takes away as much as it can, then it makes what is left simpler,
 * and so on until neither helps.
 */
export async function shrunk(schedule: Schedule, fails: (schedule: Schedule) => Promise<boolean>): Promise<Schedule> {
  let best = schedule;
  let left = BUDGET;
  /** Takes the first of `candidates` that fails, too. */
  const improve = async (candidates: Iterable<Schedule>): Promise<boolean> => {
    for (const candidate of candidates) {
      if (left-- <= 0) return false;
      if (!(await fails(candidate))) continue;
      best = candidate;
      return true;
    }
    return false;
  };
  let hasImproved = true;
  while (hasImproved) {
    hasImproved = false;
    for (const candidatesOf of [smaller, simpler]) while (await improve(candidatesOf(best))) hasImproved = true;
  }
  return best;
}

type Item = { readonly change: PlannedChange } | { readonly fault: Fault };

/** With half of it taken away, with a quarter, ... with one thing. */
function* smaller({ changes, faults }: Schedule): Generator<Schedule> {
  const items: Item[] = [...faults.map((fault) => ({ fault })), ...changes.map((change) => ({ change }))];
  for (let size = Math.ceil(items.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let from = 0; from < items.length; from += size) yield scheduleOf([...items.slice(0, from), ...items.slice(from + size)]);
  }
}

/** With one thing earlier, shorter, for an earlier operation, of a simpler value. */
function* simpler({ changes, faults }: Schedule): Generator<Schedule> {
  for (const [i, change] of changes.entries()) {
    const replaced = (by: Partial<PlannedChange>): Schedule => byMoment({ changes: replacedAt(changes, i, { ...change, ...by }), faults });
    for (const at of lower(change.at, changes[i - 1]?.at ?? 0)) yield replaced({ at });
    for (const value of change.simpler?.() ?? []) yield replaced(value);
  }
  for (const [i, fault] of faults.entries()) {
    const replaced = (by: Partial<Fault>): Schedule => ({ changes, faults: replacedAt(faults, i, { ...fault, ...by }) });
    if (tieOf(fault.kind) === 'moment') for (const at of lower(fault.at)) yield replaced({ at });
    else for (let nth = 1; nth < fault.nth; nth++) yield replaced({ nth });
    for (const ms of lower(Math.abs(fault.ms))) yield replaced({ ms: Math.sign(fault.ms) * ms });
  }
  // One id less.
  const ids = [...new Set([...changes, ...faults].map(({ id }) => id))];
  for (const id of ids.slice(1)) {
    const merged = <T extends { readonly id: string }>(item: T): T => (item.id === id ? { ...item, id: ids[0] as string } : item);
    yield { changes: changes.map(merged), faults: faults.map(merged) };
  }
}

/** Smaller numbers, the smallest and the roundest first; `also` is one that may be worth a try. */
function lower(value: number, also = 0): number[] {
  const candidates = [0, also, 1, 10, 100, 1000, 10_000, 100_000];
  const round = 10 ** Math.max(Math.floor(Math.log10(Math.max(value, 1))) - 1, 0);
  candidates.push(Math.floor(value / 2), Math.floor(value / round) * round);
  return [...new Set(candidates)].filter((candidate) => candidate < value);
}

function scheduleOf(items: readonly Item[]): Schedule {
  return {
    changes: items.flatMap((item) => ('change' in item ? [item.change] : [])),
    faults: items.flatMap((item) => ('fault' in item ? [item.fault] : [])),
  };
}

function replacedAt<T>(items: readonly T[], index: number, by: T): readonly T[] {
  return items.map((item, i) => (i === index ? by : item));
}
