import { debounceById, DelayScheduler, ofKind } from 'kreconciler/operators';
import { setTimeout as delay } from 'node:timers/promises';
import { concatMap, delay as delayed, from, lastValueFrom, of, tap } from 'rxjs';
import { lanePerTenant } from './lane-per-tenant.js';
import { optionsOf } from '../options.js';

/**
 * A loop of one's own, composed from the building blocks of `reconcile`: a lane for each tenant, and a debounce in front.
 *
 *   npm run example:custom-loop
 */

optionsOf("A loop of one's own: a lane for each tenant, and a debounce in front.\n\n  npm run example:custom-loop", {});

// Each id changes three times in a row, and one event has no tenant.
const changes = ['acme/db', 'acme/web', 'globex/db', 'nobody', 'initech/db', 'acme/db'];
const events$ = from(changes.flatMap((id) => [id, id, id])).pipe(concatMap((id) => of(id).pipe(delayed(10))));

const began = performance.now();
const at = () => `${String(Math.round((performance.now() - began) / 10) * 10).padStart(5)} ms`;

const tried = new Set<string>();
const steps$ = events$.pipe(
  // All ids share the timers of one scheduler.
  debounceById({ dueTime: 100, scheduler: new DelayScheduler(20) }),
  lanePerTenant(
    async (id) => {
      await delay(300);
      if (id === 'globex/db' && !tried.has(id)) {
        tried.add(id);
        throw new Error('not the first time');
      }
    },
    { delayResolution: 100 },
  ),
);
await lastValueFrom(
  steps$.pipe(
    ofKind('rejected', 'started', 'succeeded', 'requeued'),
    tap(({ kind, id, worker }) => console.log(`${at()}  lane ${String(worker).padStart(2)}  ${kind.padEnd(9)}  ${id}`)),
  ),
  { defaultValue: undefined },
);
console.log('All has settled');
