import type { Trigger } from './types.js';

/** How urgent an event is; what is no finite number counts as 0. */
export function priorityOf({ priority }: { readonly priority?: number | undefined }): number {
  return priority !== undefined && Number.isFinite(priority) ? priority : 0;
}

/**
 * A copy of `event` with all that belongs to a trigger as own properties: a class may have them as getters, which are not copied otherwise.
 * Throws what reading them throws, for users have made them.
 */
export function copied(event: Trigger, stream = event.stream): Trigger {
  const { id, message, context, priority, force, parts, absorbed } = event;
  return {
    ...event,
    id,
    ...(stream !== undefined && { stream }),
    ...(message !== undefined && { message }),
    ...(context !== undefined && { context }),
    ...(priority !== undefined && { priority }),
    ...(force !== undefined && { force }),
    ...(parts !== undefined && { parts }),
    ...(absorbed !== undefined && { absorbed }),
  };
}

/**
 * `last`, which stands for the `earlier` events of its id as well: it has the highest priority of all of them, is forced if one is, and
 * has absorbed what of them is `worthKeeping`.
 */
export function merged(earlier: readonly Trigger[], last: Trigger, worthKeeping: (event: Trigger) => boolean = () => true): Trigger {
  const all = [...earlier, last];
  const priority = all.reduce((highest, event) => Math.max(highest, priorityOf(event)), -Infinity);
  const before = earlier.flatMap(({ absorbed = [], ...event }) => [...absorbed, event]);
  const absorbed = [...before.filter(worthKeeping), ...(last.absorbed ?? [])];
  return {
    ...last,
    ...(priority !== priorityOf(last) && { priority }),
    ...(all.some(({ force }) => force === true) && { force: true }),
    ...(absorbed.length > 0 && { absorbed }),
  };
}
