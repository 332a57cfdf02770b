import { consoleLogger, Controller, observability, resync } from 'kreconciler';
import { interval, map, type Observable } from 'rxjs';
import { optionsOf } from '../options.js';

/**
 * The example of the Go original: three streams over four ids, for a while.
 *
 *   npm run example:dummy -- --for 60
 */
const USAGE = `Three streams ask for four ids, for a while.

  npm run example:dummy -- [--for <seconds>]      (default: 6)`;
const options = optionsOf(USAGE, { for: { type: 'string', default: '6' } });
const seconds = Number(options.for);
if (!(seconds > 0 && seconds <= 86_400))
  throw new TypeError(`Expected \`--for\` to be a number of seconds > 0, a day at most, got \`${options.for}\``);

// A fixed set of ids is enough to show what can be done.
const ids = ['a', 'b', 'c', 'd'];

const random = (every: number): Observable<string> =>
  interval(every).pipe(map(() => ids[Math.floor(Math.random() * ids.length)] as string));

const controller = new Controller(
  // Only an example: it need not be elected first.
  { leaderElectionEnabled: false, observability: observability({ logger: consoleLogger('info') }) },
  (id, { logger, streams }) => {
    logger.info('Got reconcile call', { id, streams: streams.join(' ') });
  },
  {
    resync: resync({ every: 5000, list: async () => ids }),
    random5s: random(5000),
    random1s: random(1000),
  },
);

await controller.run(AbortSignal.timeout(seconds * 1000));
console.log('Finished running');
