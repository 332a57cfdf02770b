import { filter, type OperatorFunction } from 'rxjs';
import type { Step, StepOf } from './types.js';

/**
 * Lets the steps of the given kinds through, typed as these; with no kind, none.
 *
 * @example
 * steps$.pipe(ofKind('dropped', 'rejected')).subscribe(({ kind, id, reason }) => alert(kind, id, reason));
 */
export function ofKind<K extends Step['kind']>(...kinds: readonly K[]): OperatorFunction<Step, StepOf<K>> {
  return filter((step): step is StepOf<K> => (kinds as readonly string[]).includes(step.kind));
}
