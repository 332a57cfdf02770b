import type { Trigger } from '../../../operators/types.js';
import type { SimulatedStream } from './scenario.js';

/** An event of a simulated stream, as urgent as that is. */
export function triggerOf<W>(id: string, stream: string, { priority, force }: SimulatedStream<W>): Trigger {
  return { id, stream, ...(priority !== undefined && { priority }), ...(force !== undefined && { force }) };
}
