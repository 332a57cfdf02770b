import { Controller } from 'kreconciler';
import { EventEmitter } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { fromEvent, map, type Observable, retry, Subject, takeUntil, timer } from 'rxjs';
import { fromFetch } from 'rxjs/fetch';
import { feed, linesOf } from './feed.js';
import { optionsOf } from '../options.js';

/**
 * Plugging in what people have. Whatever an ObservableInput can be is an event stream, and whatever is none becomes one in a
 * line. When all streams are complete and everything has settled, `run` resolves.
 *
 *   npm run example:plain-sources
 */

optionsOf('Plugs in streams of all kinds, until they are complete.\n\n  npm run example:plain-sources', {});

// An EventEmitter. It knows no end of its own, so it gets one.
const shop = new EventEmitter();
const orders$ = (fromEvent(shop, 'order') as Observable<{ readonly customer: string }>).pipe(
  map(({ customer }) => customer),
  takeUntil(fromEvent(shop, 'closed')),
);

// An async generator. As a function of a signal it is called once a term, and what it waits for ends with it.
async function* polled(signal: AbortSignal): AsyncGenerator<string> {
  for (let round = 1; round <= 3; round++) {
    await delay(100, undefined, { signal });
    yield `polled-${round}`;
  }
}

// A stream over HTTP that breaks off: an Observable that errors would end the whole controller, so it is tried again.
const { url, server } = await feed();
let breaks = 0;
const fed$ = fromFetch(url, { selector: (response) => linesOf(response.body) }).pipe(
  retry({
    delay: () => {
      breaks++;
      return timer(100);
    },
  }),
);

// A Subject: events from anywhere in the program. They need not be strings: `message` is carried to where it is wanted.
const clicks$ = new Subject<string>();

const controller = new Controller(
  { leaderElectionEnabled: false },
  (id, { streams }) => {
    console.log(`${id.padEnd(13)}  by ${streams.join(' and ')}`);
  },
  {
    orders: orders$,
    polled,
    fed: fed$,
    clicks: clicks$.pipe(map((id) => ({ id, message: 'a click' }))),
    // A promise, and what is known beforehand.
    asked: async () => `asked-${(await fetch(url, { method: 'HEAD' })).status}`,
    fixed: ['fixed-1', 'fixed-2'],
  },
);

const running = controller.run();
for (const customer of ['alice', 'bob', 'alice']) {
  await delay(100);
  shop.emit('order', { customer });
  clicks$.next(`clicked-${customer}`);
}
shop.emit('closed');
clicks$.complete();

await running;
server.close();
console.log(`All streams are complete; the one over HTTP broke off ${breaks} times`);
