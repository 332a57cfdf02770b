import { defer, type Observable, merge, of, repeat, retry } from 'rxjs';
import { after } from '../../operators/after.js';
import { exponential } from '../../operators/backoff.js';
import type { KeyRange } from './bytes.js';
import type { LeadershipSettings } from './leadership-config.js';
import type { Session } from './session.js';
import { watch } from './watch.js';

/** How long one watch lasts, in ms. That another begins is a reason to look, too. */
const WATCH = 30_000;

/** Says when to look at `range`: now, every now and then, and as soon as something in it has changed. */
export function looks({ gateway }: Session, range: KeyRange, { retry: every, scheduler }: LeadershipSettings): Observable<unknown> {
  const jittered = exponential({ initial: every, max: Infinity });
  const pause = defer(() => after(jittered(1, undefined), scheduler));
  // A watch that fails only makes it slower.
  const changes = watch(gateway, { range, heartbeat: WATCH, scheduler }).pipe(repeat(), retry({ delay: () => pause }));
  return merge(of(0), pause.pipe(repeat()), changes);
}
