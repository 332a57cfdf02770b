import { debounceById, DelayScheduler, type Trigger } from 'kreconciler/operators';
import { marbles } from 'kreconciler/testing';
import { concat, EMPTY, NEVER, of, queueScheduler, Subject, throwError } from 'rxjs';
import { describe, expect, it, test, vi } from 'vitest';
import { Clock } from '../support/clock.js';

/** What passes, in words: `web@20 <2` is the event of web at 20, with two that it absorbed. */
function follow(config: { dueTime: number; maxWait?: number }) {
  const clock = new Clock();
  const events = new Subject<string | Trigger>();
  const passed: string[] = [];
  const triggers: Trigger[] = [];
  const subscription = events.pipe(debounceById({ ...config, scheduler: clock })).subscribe({
    next: (trigger) => {
      triggers.push(trigger);
      passed.push(`${trigger.id}@${clock.now()}${trigger.absorbed === undefined ? '' : ` <${trigger.absorbed.length}`}`);
    },
    error: () => passed.push(`error@${clock.now()}`),
    complete: () => passed.push(`complete@${clock.now()}`),
  });
  return { clock, events, passed, triggers, subscription };
}

describe('debounceById', () => {
  it('should let the last event of each id pass once that id is quiet, whatever others do', () => {
    const { clock, events, passed } = follow({ dueTime: 20 });
    events.next('web');
    clock.advance(10);
    events.next('mail');
    events.next('web');
    clock.advance(15);
    events.next('mail');
    clock.advance(100);
    expect(passed).toEqual(['web@30 <1', 'mail@45 <1']);
  });

  it('should let each pass at once with a `maxWait` of 0, also on a scheduler that does at once what has no delay', () => {
    vi.useFakeTimers();
    const passed: string[] = [];
    const events = new Subject<string>();
    events.pipe(debounceById({ dueTime: 50, maxWait: 0, scheduler: queueScheduler })).subscribe(({ id }) => passed.push(id));
    for (const id of ['web', 'mail', 'web']) events.next(id);
    expect(passed).toEqual(['web', 'mail', 'web']);
    expect(vi.getTimerCount()).toBe(0);
    vi.useRealTimers();
  });

  it('should let one pass after `maxWait`, though events never cease', () => {
    const { clock, events, passed } = follow({ dueTime: 20, maxWait: 50 });
    for (let i = 0; i < 12; i++) {
      events.next('web');
      clock.advance(10);
    }
    expect(passed).toEqual(['web@50 <4', 'web@100 <4']);
  });

  it('should pass on the absorbed events, the highest priority, and all that the last one has', () => {
    const { clock, events, triggers } = follow({ dueTime: 20 });
    const first = { id: 'web', message: 1, priority: 7 };
    const second = { id: 'web', stream: 'files', message: 2, absorbed: [{ id: 'web', message: 0 }] };
    events.next(first);
    events.next(second);
    clock.advance(20);
    expect(triggers).toEqual([{ id: 'web', stream: 'files', message: 2, priority: 7, absorbed: [first, { id: 'web', message: 0 }] }]);
  });

  it('should let a forced event pass at once, with those that wait', () => {
    const { clock, events, triggers, passed } = follow({ dueTime: 20 });
    events.next('web');
    events.next({ id: 'web', force: true });
    expect(triggers).toEqual([{ id: 'web', force: true, absorbed: [{ id: 'web' }] }]);
    clock.advance(100);
    expect(passed).toEqual(['web@0 <1']);
  });

  it('should let what waits pass in the order of first arrival when the source completes, and hold nothing then', () => {
    const { clock, events, passed } = follow({ dueTime: 20 });
    for (const id of ['web', 'mail', 'web', 'dns']) events.next(id);
    events.complete();
    expect(passed).toEqual(['web@0 <1', 'mail@0', 'dns@0', 'complete@0']);
    expect(clock.timers).toBe(0);
  });

  it('should pass an error on at once, and hold nothing then', () => {
    const { clock, events, passed } = follow({ dueTime: 20 });
    events.next('web');
    events.error(new Error('gone'));
    expect(passed).toEqual(['error@0']);
    expect(clock.timers).toBe(0);
  });

  it('should hold nothing once unsubscribed', () => {
    const { clock, events, passed, subscription } = follow({ dueTime: 20, maxWait: 50 });
    events.next('web');
    subscription.unsubscribe();
    expect(clock.timers).toBe(0);
    expect(events.observed).toBe(false);
    clock.advance(100);
    expect(passed).toEqual([]);
  });

  it('should wait as long as it was told to, though the clock is set', () => {
    const { clock, events, passed } = follow({ dueTime: 20 });
    events.next('web');
    clock.wallClockSetBy = 3_600_000;
    events.next('web');
    clock.advance(19);
    expect(passed).toEqual([]);
    clock.advance(1);
    expect(passed).toHaveLength(1);
  });

  it('should hear of an event that an observer sends while one passes', () => {
    const { clock, events, passed, triggers } = follow({ dueTime: 20 });
    events.next('web');
    clock.advance(20);
    events.next({ ...triggers[0]!, message: 'again' });
    clock.advance(20);
    expect(passed).toEqual(['web@20', 'web@40']);
  });

  it('should begin with an empty memory for each subscription', () => {
    const clock = new Clock();
    const debounced = of('web').pipe(debounceById({ dueTime: 20, scheduler: clock }));
    const seen = vi.fn();
    debounced.subscribe(seen);
    debounced.subscribe(seen);
    expect(seen).toHaveBeenCalledTimes(2);
  });

  it.each<[string, unknown]>([
    ['an empty string', ''],
    ['a number', 5],
    ['an object without id', {}],
    [
      'an id that throws',
      Object.defineProperty({}, 'id', {
        get: () => {
          throw new Error('no');
        },
      }),
    ],
  ])('should let %s, which is no event, pass at once for the loop to reject', (_, odd) => {
    const passed = vi.fn();
    concat(of(odd as string), NEVER)
      .pipe(debounceById({ dueTime: 20, scheduler: new Clock() }))
      .subscribe(passed);
    expect(passed).toHaveBeenCalledOnce();
  });

  test('should do as its source does: never, empty, an error', () => {
    const debounced = debounceById({ dueTime: 20, scheduler: new Clock() });
    const end = vi.fn();
    NEVER.pipe(debounced).subscribe({ complete: end });
    expect(end).not.toHaveBeenCalled();
    EMPTY.pipe(debounced).subscribe({ complete: end });
    expect(end).toHaveBeenCalledOnce();
    const error = new Error('no');
    const failed = vi.fn();
    throwError(() => error)
      .pipe(debounced)
      .subscribe({ error: failed });
    expect(failed).toHaveBeenCalledWith(error);
  });

  it('should share timers between ids on a DelayScheduler', () => {
    const clock = new Clock();
    const events = new Subject<string>();
    events.pipe(debounceById({ dueTime: 20, scheduler: new DelayScheduler(10, clock) })).subscribe();
    for (let i = 0; i < 1000; i++) events.next(`service-${i}`);
    expect(clock.timers).toBe(1);
  });

  it.each([
    [{}, 'Expected `dueTime` to be a finite number of ms >= 0, got `undefined`'],
    [{ dueTime: -1 }, 'Expected `dueTime` to be a finite number of ms >= 0, got `-1` (number)'],
    [{ dueTime: 1, maxWait: NaN }, 'Expected `maxWait` to be a number of ms >= 0, got `NaN` (number)'],
    [{ dueTime: 1, scheduler: {} }, 'Expected `scheduler` to be a scheduler, got `{}` (object)'],
  ])('should refuse %o', (config, message) => {
    expect(() => debounceById(config as never)).toThrow(new TypeError(message));
  });

  test(
    'should be this as marbles',
    marbles(({ hot, scheduler, expectObservable }) => {
      const passed = { a: { id: 'web' }, b: { id: 'mail' } };
      // prettier-ignore
      const changes = hot('ab-------a----b-|', { a: 'web', b: 'mail' });
      const expected = '--ab-------a----(b|)';
      expectObservable(changes.pipe(debounceById({ dueTime: 2, scheduler }))).toBe(expected, passed);
    }),
  );
});
