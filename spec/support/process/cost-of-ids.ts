/**
 * Measures what an id costs, in microseconds of CPU time, in a crowd of the size given: from its first event until it is
 * done, in a `backlog`, or by way of `waiting`; or what it costs to keep it in a bare `map` meanwhile, which no loop can do
 * without. In a process of its own, whose CPU time is that of nobody else.
 */
import { reconcile } from 'kreconciler/operators';
import { Subject } from 'rxjs';
import { Clock } from '../clock.js';

const [kind, size] = [process.argv[2], Number(process.argv[3])];
const ids = Array.from({ length: 1_000_000 }, (_, i) => `id-${i}`);

function inMap(first: number, size: number): void {
  const map = new Map<string, object>();
  for (let i = first; i < first + size; i++) map.set(ids[i]!, {});
  for (let i = first; i < first + size; i++) map.delete(ids[i]!);
}

function inLoop(first: number, size: number): void {
  const gate = new Subject<undefined>();
  const events = new Subject<string>();
  const clock = new Clock();
  let succeeded = 0;
  events
    .pipe(
      reconcile(
        (id, { reason }) => (id === 'gate' ? gate : kind === 'waiting' && reason === 'event' ? { requeueDelay: 1000 } : undefined),
        {
          workerQueueSize: Infinity,
          delayQueueSize: Infinity,
          maxReconcileTime: 0,
          scheduler: clock,
        },
      ),
    )
    .subscribe((step) => {
      if (step.kind === 'succeeded') succeeded++;
    });
  if (kind === 'backlog') events.next('gate');
  for (let i = first; i < first + size; i++) events.next(ids[i]!);
  gate.complete();
  clock.advance(1000);
  if (succeeded !== size + (kind === 'backlog' ? 1 : 0)) throw new Error(`${succeeded} of ${size} succeeded`);
}

const crowd = kind === 'map' ? inMap : inLoop;
for (let i = 0; i < 100; i++) crowd(0, 1000); // to warm up
const begin = process.cpuUsage();
// Of the same million strings, and at least 200,000, so that it is only the size of a crowd that makes the difference.
const total = Math.max(size, 200_000);
for (let first = 0; first < total; first += size) crowd(first, size);
const { user, system } = process.cpuUsage(begin);
console.log((user + system) / total);
