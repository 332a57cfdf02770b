import { Subscription } from 'rxjs';
import { check } from '../../../operators/check.js';
import type { Logger } from './logger.js';

/**
 * Logs what `controller` is doing whenever the process receives `signal`, until unsubscribed: a look inside without a
 * debugger. (Go does so at SIGHUP unasked; here nothing listens to a signal unless you say so.)
 *
 * The listener takes the place of what the signal does by default, which for most is to end the process.
 *
 * @param controller - a Controller, or anything else that can be inspected
 * @throws TypeError if `signal` is no name of a signal; an Error of Node if it cannot be listened to, such as SIGKILL
 * @example
 * const snapshots = logSnapshotOn('SIGUSR2', controller, logger);
 * await controller.run(signal).finally(() => { snapshots.unsubscribe(); });
 */
export function logSnapshotOn(signal: string, controller: { inspect(): unknown }, logger: Logger): Subscription {
  check('signal', signal, 'the name of a signal, such as `SIGUSR2`', /^SIG[A-Z0-9]+$/.test(signal));
  const log = (): void => {
    logger.info('snapshot', { snapshot: controller.inspect() });
  };
  // By hand: `fromEvent` would hide that a signal cannot be listened to.
  process.on(signal, log);
  return new Subscription(() => process.off(signal, log));
}
