import type { ReconcileSettings } from './config.js';
import { shown } from './shown.js';
import type { Rejected, Trigger } from './types.js';

/**
 * Finds the lane of an event: its number, or the step that rejects the event. Whatever it is given, it never throws: an event
 * that cannot be routed is a rejection, because no id may end the loop (Q4, B1).
 *
 * @example
 * route('web', reconcileSettings({ workerCount: 4 })); // 1, for instance
 */
export function route(event: string | Trigger, settings: ReconcileSettings): number | Rejected {
  const { workerHasher, workerCount } = settings;
  const id = idOf(event);
  if (id === '') return withoutId(event, settings);
  try {
    const worker = workerHasher(id, workerCount);
    // `+ 0` makes 0 of -0.
    return Number.isInteger(worker) && worker >= 0 && worker < workerCount ? worker + 0 : withoutLane(event, id, settings, worker);
  } catch (error) {
    return rejected(event, id, settings, 'hasher_failed', error);
  }
}

function withoutId(event: string | Trigger, settings: ReconcileSettings): Rejected {
  const error = new TypeError(`Expected an id to be a non-empty string, got ${shown(event)}`);
  return rejected(event, '', settings, 'invalid_id', error);
}

function withoutLane(event: string | Trigger, id: string, settings: ReconcileSettings, worker: number): Rejected {
  if (Number.isInteger(worker) && worker < 0) return rejected(event, id, settings, 'unrouted');
  const expected = `an integer below ${String(settings.workerCount)}`;
  const error = new TypeError(`Expected \`workerHasher\` to return ${expected}, got ${shown(worker)}`);
  return rejected(event, id, settings, 'hasher_failed', error);
}

/** The step that rejects an event for a lane that is run elsewhere (H5). */
export function notOwned(event: string | Trigger, worker: number, settings: ReconcileSettings): Rejected {
  return { ...rejected(event, idOf(event), settings, 'not_owned'), worker };
}

function rejected(
  event: string | Trigger,
  id: string,
  { scheduler }: ReconcileSettings,
  reason: Rejected['reason'],
  error?: unknown,
): Rejected {
  const trigger = typeof event === 'object' && (event as unknown) !== null ? event : { id };
  const step = { kind: 'rejected', id, worker: -1, at: scheduler.now(), reason, trigger } as const;
  return error === undefined ? step : { ...step, error };
}

/** Most are strings: what the others need is kept out of it, so that it is inlined. */
function idOf(event: string | Trigger): string {
  return typeof event === 'string' ? event : idOfTrigger(event);
}

function idOfTrigger(event: Trigger): string {
  try {
    // Its lane reads the others too, and could not say no.
    const id: unknown = [event.id, event.stream, event.priority, event.force][0];
    return typeof id === 'string' ? id : '';
  } catch {
    return '';
  }
}
