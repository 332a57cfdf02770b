import { concat, map, of, type OperatorFunction } from 'rxjs';
import { type ReconcileConfig, reconcileSettings } from '../../operators/config.js';
import type { Step } from '../../operators/types.js';
import { encodeHeader, encodeStep } from './journal-format.js';

/**
 * Records a running loop as lines of JSON, without line ends: first one that says what `config` the loop has, then one
 * for each step, as it happens, with its time. {@link replay} runs such a recording again.
 *
 * Of `config` the numbers are recorded, of an error its name, message, `retryDelay` and whether it is terminal, of an event
 * its id, stream, `priority` and `force`; never its `message`, which is the source's own. Commands are there by what they changed.
 * Completes and errors with the source.
 *
 * @throws TypeError if `config` is out of its ranges
 * @example
 * controller.steps.pipe(journal(config)).subscribe((line) => file.write(`${line}\n`));
 */
export function journal(config: ReconcileConfig = {}): OperatorFunction<Step, string> {
  const header = encodeHeader(reconcileSettings(config));
  return (steps) => concat(of(header), steps.pipe(map(encodeStep)));
}
