import type { IdleId, InspectedId } from '../inspect.js';
import type { Pause } from '../notes.js';
import type { IdRow } from './api.js';
import { cut, cutAll, isAddressable } from './texts.js';

/** An id as JSON. */
export function idRow(inspected: InspectedId | IdleId): IdRow {
  const { id, paused } = inspected;
  const shown = {
    id: cut(id),
    ...(paused !== undefined && { paused: pauseMessage(paused) }),
    ...(!isAddressable(id) && { cut: true as const }),
  };
  if (inspected.state === 'idle') return { ...shown, state: 'idle' };
  const { lastError, streams, ...row } = inspected;
  return {
    ...row,
    ...shown,
    streams: cutAll(streams),
    ...(lastError !== undefined && { lastError: { name: cut(lastError.name), message: cut(lastError.message), at: lastError.at } }),
  };
}

export function pauseMessage({ since, why }: Pause): Pause {
  return { since, ...(why !== undefined && { why: cut(why) }) };
}
