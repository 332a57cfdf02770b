import type { ReconcileSettings } from './config.js';
import { shown } from './expected.js';
import type { Rejected, Trigger } from './types.js';

/** An event and the lane it goes to. */
export interface Routed {
  /** The lane, or -1. */
  readonly worker: number;
  readonly trigger: Trigger;
  /** Why `worker` is -1. */
  readonly rejection?: Rejected;
}

/**
 * Finds the lane of an event. Whatever it is given, it never throws: an event that cannot be routed is a rejection, because
 * no id may end the loop (Q4, B1).
 *
 * @example
 * events$.pipe(map((event) => route(event, reconcileSettings({ workerCount: 4 }))));
 */
export function route(event: string | Trigger, settings: ReconcileSettings): Routed {
  const { workerHasher, workerCount } = settings;
  const trigger = typeof event === 'string' ? { id: event } : event;
  const id = idOf(trigger);
  if (id === '') return rejected(trigger, id, settings, 'invalid_id', new TypeError(`Expected an id to be a non-empty string, got ${shown(event)}`));
  try {
    const worker = workerHasher(id, workerCount);
    if (worker < 0 && Number.isInteger(worker)) return rejected(trigger, id, settings, 'unrouted');
    // `+ 0` makes 0 of -0.
    if (Number.isInteger(worker) && worker < workerCount) return { worker: worker + 0, trigger };
    const error = new TypeError(`Expected \`workerHasher\` to return an integer below ${String(workerCount)}, got ${shown(worker)}`);
    return rejected(trigger, id, settings, 'hasher_failed', error);
  } catch (error) {
    return rejected(trigger, id, settings, 'hasher_failed', error);
  }
}

function rejected(from: Trigger, id: string, { scheduler }: ReconcileSettings, reason: Rejected['reason'], error?: unknown): Routed {
  const trigger = typeof from === 'object' && (from as unknown) !== null ? from : { id };
  const step = { kind: 'rejected', id, worker: -1, at: scheduler.now(), reason, trigger } as const;
  return { worker: -1, trigger, rejection: error === undefined ? step : { ...step, error } };
}

function idOf(trigger: Trigger): string {
  try {
    const id: unknown = trigger.id;
    // Its lane reads it too, and could not say no.
    Reflect.get(trigger, 'stream');
    return typeof id === 'string' ? id : '';
  } catch {
    return '';
  }
}
