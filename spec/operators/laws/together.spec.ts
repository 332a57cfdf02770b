import { concat, NEVER, of, Subject } from 'rxjs';
import { describe, expect, it } from 'vitest';
import { reconcile } from 'kreconciler/operators';

/** Lane 0 hangs; lane 1 runs b and holds c ready; whoever sees `seen` dropped lets b finish. */
function cutOffWith(notifier: 'stop' | 'reset', seen: string): string[] {
  const notify = new Subject<void>();
  const b = new Subject<void>();
  const steps: string[] = [];
  concat(of('a0', 'b1', 'c1'), NEVER)
    .pipe(reconcile((id) => (id === 'a0' ? NEVER : b), { workerCount: 2, workerHasher: (id) => Number(id[1]), [notifier]: notify }))
    .subscribe(({ kind, id }) => {
      steps.push(`${kind} ${id}`);
      if (kind === 'dropped' && id === seen) b.complete();
    })
    .add(() => steps.push('ended'));
  steps.length = 0;
  notify.next();
  return steps;
}

describe('When work is cut off', () => {
  it('L2 should start nothing in one lane because of what another drops', () => {
    expect(cutOffWith('reset', 'a0')).toEqual(['dropped a0', 'dropped c1', 'dropped b1']);
  });

  it('P2 should start nothing because of what is dropped, and let the running finish', () => {
    expect(cutOffWith('stop', 'c1')).toEqual(['dropped c1', 'succeeded b1']);
  });
});

it('P2 should drop waiting ids in the order in which they came', () => {
  const stop = new Subject<void>();
  const ids = ['c', 'a', 'd', 'b', 'e'];
  const dropped: string[] = [];
  concat(of(...ids), NEVER)
    .pipe(reconcile(() => ({ requeueDelay: 1000 }), { stop }))
    .subscribe(({ kind, id }) => {
      if (kind === 'dropped') dropped.push(id);
    });
  stop.next();
  expect(dropped).toEqual(ids);
});
