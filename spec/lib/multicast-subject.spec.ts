import { take } from 'rxjs';
import { expect, it, vi } from 'vitest';
import { MulticastSubject } from '../../lib/multicast-subject.js';

function told() {
  return { next: vi.fn(), complete: vi.fn() };
}

it('should tell a value to whoever listens at the moment', () => {
  const broadcast = new MulticastSubject<string>();
  const [first, second] = [told(), told()];
  broadcast.next('nobody');
  const listening = broadcast.values.subscribe(first);
  broadcast.next('one');
  broadcast.values.subscribe(second);
  broadcast.next('both');
  listening.unsubscribe();
  broadcast.next('other');
  expect(first.next.mock.calls.flat()).toEqual(['one', 'both']);
  expect(second.next.mock.calls.flat()).toEqual(['both', 'other']);
});

it('should pass over nobody when one leaves in the midst of a value, and tell it no more', () => {
  const broadcast = new MulticastSubject<string>();
  const [before, after, gone] = [told(), told(), told()];
  broadcast.values.subscribe(before);
  broadcast.values.pipe(take(1)).subscribe(() => {
    leaving.unsubscribe();
  });
  const leaving = broadcast.values.subscribe(gone);
  broadcast.values.subscribe(after);
  broadcast.next('a');
  broadcast.next('b');
  expect(before.next.mock.calls.flat()).toEqual(['a', 'b']);
  expect(after.next.mock.calls.flat()).toEqual(['a', 'b']);
  expect(gone.next).not.toHaveBeenCalled();
});

it('should tell one that joins in the midst of a value the next one first', () => {
  const broadcast = new MulticastSubject<string>();
  const late = told();
  const join = vi.fn().mockImplementationOnce(() => broadcast.values.subscribe(late));
  broadcast.values.subscribe(join);
  broadcast.next('a');
  broadcast.next('b');
  expect(late.next.mock.calls.flat()).toEqual(['b']);
});

it('should complete all who listen, and at once those who come later', () => {
  const broadcast = new MulticastSubject<string>();
  const [early, late] = [told(), told()];
  broadcast.values.subscribe(early);
  broadcast.complete();
  broadcast.values.subscribe(late);
  broadcast.next('too late');
  for (const { next, complete } of [early, late]) {
    expect(next).not.toHaveBeenCalled();
    expect(complete).toHaveBeenCalledOnce();
  }
});
