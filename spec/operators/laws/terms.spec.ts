/* eslint-disable rxjs-x/no-exposed-subjects -- it is there for tests to turn */
import { groupBy, mergeMap, Observable, Subject } from 'rxjs';
import { describe, expect, it } from 'vitest';
import { reconcileSettings, type Step } from 'kreconciler/operators';
import { loopWith } from '../../../operators/loop.js';
import { inTerms, LaneTerm } from '../../../operators/tenure.js';
import { inWords } from '../../support/rig.js';
import { Clock } from '../../support/clock.js';

/** A term, and what is done with it. */
class Term {
  readonly says = new Subject<'revoked'>();
  isHeld = false;
  readonly until = new Observable<'revoked'>((subscriber) => {
    this.isHeld = true;
    subscriber.add(() => {
      this.isHeld = false;
    });
    return this.says.subscribe(subscriber);
  });
}

/** A loop of one lane with terms of its own. */
function bench(run: (id: string, signal: AbortSignal) => Promise<void> | undefined, shutdownGrace = 100) {
  const clock = new Clock();
  const events = new Subject<string>();
  const terms = new Subject<LaneTerm>();
  const stop = new Subject<void>();
  const steps: Step[] = [];
  const settings = reconcileSettings({ scheduler: clock, delayResolution: 10, shutdownGrace, stop });
  let hasEnded = false;
  const subscription = events
    .pipe(
      loopWith<string>(settings, (inputs, { lane }) =>
        inputs.pipe(
          groupBy(() => 0),
          mergeMap((group) => group.pipe(lane((id, { signal }) => run(id, signal), 3, inTerms(terms)))),
        ),
      ),
    )
    .subscribe({
      next: (step) => steps.push(step),
      complete: () => {
        hasEnded = true;
      },
    });
  const begin = (): Term => {
    const term = new Term();
    terms.next(new LaneTerm(3, term.until));
    return term;
  };
  return { clock, events, steps, stop, subscription, begin, told: () => steps.map(inWords), hasEnded: () => hasEnded };
}

describe('A lane with terms', () => {
  it('H2 should take no event before its first term, and say so with its own number', () => {
    const { events, steps, told, begin } = bench(() => undefined);
    events.next('a');
    expect(told()).toEqual(['rejected a not_owned']);
    expect(steps[0]).toMatchObject({ worker: 3, trigger: { id: 'a' } });
    begin();
    events.next('a');
    expect(told().slice(1)).toEqual(['enqueued a', 'started a', 'succeeded a']);
  });

  it('H5 should let go of a term that is revoked once nothing runs, whoever revokes it', () => {
    const term: { current?: Term } = {};
    const { events, told, begin } = bench(() => {
      term.current?.says.next('revoked');
      expect(term.current?.isHeld).toBe(true);
      return undefined;
    });
    events.next('a');
    term.current = begin();
    events.next('b');
    expect(told().slice(1)).toEqual(['enqueued b', 'started b', 'succeeded b']);
    expect(term.current.isHeld).toBe(false);
  });

  it('H5 should hear of what is revoked twice once, and be cut off after the grace', () => {
    const signals: AbortSignal[] = [];
    const { events, told, begin, clock } = bench((_, signal) => {
      signals.push(signal);
      return new Promise(() => undefined);
    });
    events.next('a');
    const term = begin();
    events.next('b');
    term.says.next('revoked');
    clock.advance(60);
    term.says.next('revoked');
    clock.advance(39);
    expect([term.isHeld, signals[0]?.aborted]).toEqual([true, false]);
    clock.advance(1);
    expect([term.isHeld, signals[0]?.aborted]).toEqual([false, true]);
    expect(told().slice(1)).toEqual(['enqueued b', 'started b', 'dropped b moved', 'abandoned b']);
  });

  it('L5 should hold its term while it is stopping, and let go at its end; one that comes then is not held at all', () => {
    const { events, begin, stop, clock, hasEnded } = bench(() => new Promise(() => undefined));
    events.next('a');
    const term = begin();
    events.next('b');
    stop.next();
    expect(term.isHeld).toBe(true);
    expect(begin().isHeld).toBe(false);
    term.says.next('revoked');
    clock.advance(100);
    expect([term.isHeld, hasEnded()]).toEqual([false, true]);
  });

  it('P3 should cut off what runs before it lets go, when it is unsubscribed', () => {
    const term: { current?: Term } = {};
    const held: (boolean | undefined)[] = [];
    const { events, begin, subscription } = bench((_, signal) => {
      signal.addEventListener('abort', () => held.push(term.current?.isHeld));
      return new Promise(() => undefined);
    });
    events.next('a');
    term.current = begin();
    events.next('b');
    subscription.unsubscribe();
    expect(held).toEqual([true]);
    expect(term.current.isHeld).toBe(false);
  });

  it('L2 should be cut off when its term ends in an error, or before it was held', () => {
    const { events, told, begin } = bench(() => new Promise(() => undefined));
    events.next('a');
    const term = begin();
    events.next('b');
    term.says.error(new Error('away'));
    expect(told().slice(1)).toEqual(['enqueued b', 'started b', 'dropped b stopped', 'abandoned b']);
    events.next('c');
    expect(told().at(-1)).toBe('rejected c not_owned');
  });
});
