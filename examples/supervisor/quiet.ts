import type { Step } from 'kreconciler';
import { defer, mergeMap, type OperatorFunction } from 'rxjs';
import type { Status } from './reconciler.js';

/**
 * The steps, without those of a resync that changed nothing: every ten seconds it asks for everything, and nearly always in vain.
 * They are held back until it is known. The statuses have to come in line with the steps.
 *
 * @param resync - the name of the stream
 */
export function quiet(resync: string): OperatorFunction<{ readonly step: Step } | { readonly status: Status }, Step> {
  return (news) =>
    defer(() => {
      const held = new Map<string, Step[]>();
      const release = (id: string): Step[] => {
        const steps = held.get(id) ?? [];
        held.delete(id);
        return steps;
      };
      return news.pipe(
        mergeMap((one) => {
          if ('status' in one) return one.status.isChanging ? release(one.status.id) : [];
          const { step } = one;
          const { id, kind } = step;
          const isOfResync = step.trigger?.stream === resync;
          if (kind === 'merged' && isOfResync) return [];
          if (kind === 'enqueued' && isOfResync) held.set(id, [step]);
          else if (kind === 'started' && held.has(id)) held.get(id)?.push(step);
          else if (kind === 'succeeded' && held.has(id)) held.delete(id);
          else return [...release(id), step];
          return [];
        }),
      );
    });
}
