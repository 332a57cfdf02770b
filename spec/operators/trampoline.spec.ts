import type { Step } from 'kreconciler/operators';
import type { Trampoline } from '../../operators/trampoline.js';
import { trampolined } from '../../operators/trampolined.js';
import { EMPTY, NEVER, type Observable, of, Subject, throwError } from 'rxjs';
import { describe, expect, it } from 'vitest';

const step = (id: string, at = 0): Step => ({ kind: 'merged', id, worker: 0, at });

/** Subscribes, and notes what is seen and in which order; `react` is called with each id. */
function observe(work: (trampoline: Trampoline) => Observable<unknown>, react: (id: string) => void = () => undefined) {
  const seen: string[] = [];
  const subscription = trampolined(work).subscribe({
    next: ({ id }) => {
      seen.push(id);
      react(id);
    },
    error: (error: unknown) => seen.push(`error ${error}`),
    complete: () => seen.push('complete'),
  });
  return { seen, subscription };
}

function opened(react?: (id: string, trampoline: Trampoline) => void) {
  let trampoline!: Trampoline;
  const end = new Subject<unknown>();
  const { seen, subscription } = observe(
    (its) => {
      trampoline = its;
      return end;
    },
    (id) => react?.(id, trampoline),
  );
  return { trampoline, end, seen, subscription };
}

describe('A5: a trampoline', () => {
  it('should know when the last step was as long as what it causes goes on, and no longer', () => {
    const moments: number[] = [];
    const { trampoline } = opened((_, { moment }) => moments.push(moment));
    const look = () => moments.push(trampoline.moment);
    look();
    trampoline.push(step('a', 1));
    trampoline.push(step('b', 2));
    trampoline.flush(look);
    look();
    trampoline.flush(look);
    expect(moments).toEqual([NaN, 1, 2, 2, NaN, NaN]);
  });

  it('should keep what is pushed until it is flushed', () => {
    const { trampoline, seen } = opened();
    trampoline.push(step('a'));
    trampoline.push(step('b'));
    expect(seen).toEqual([]);
    trampoline.flush();
    expect(seen).toEqual(['a', 'b']);
    trampoline.flush();
    expect(seen).toEqual(['a', 'b']);
  });

  it('should deliver what is caused while a step is delivered after it, and after those before', () => {
    const { trampoline, seen } = opened((id, its) => {
      if (id === 'a') its.emit(step('caused by a'));
      if (id === 'b') its.emit(step('caused by b'));
    });
    trampoline.push(step('a'));
    trampoline.emit(step('b'));
    expect(seen).toEqual(['a', 'b', 'caused by a', 'caused by b']);
  });

  it('should take no turn before all steps before it are seen', () => {
    const { trampoline, seen } = opened((id, its) => {
      if (id === 'a') its.flush(() => seen.push('turn'));
    });
    trampoline.push(step('a'));
    trampoline.emit(step('b'));
    expect(seen).toEqual(['a', 'b', 'turn']);
  });

  it('should deliver the steps of one turn before the next begins', () => {
    const { trampoline, seen } = opened();
    trampoline.flush(() => {
      trampoline.push(step('one'));
      trampoline.flush(() => seen.push('turn two'));
      seen.push('end of turn one');
    });
    expect(seen).toEqual(['one', 'end of turn one', 'turn two']);
    trampoline.flush(() => {
      trampoline.flush(() => seen.push('turn four'));
      trampoline.push(step('three'));
    });
    expect(seen.slice(3)).toEqual(['three', 'turn four']);
  });

  it('B2 should take turns that ask for turns without a stack that grows', () => {
    const { trampoline } = opened();
    let turns = 0;
    const turn = (): void => {
      if (++turns < 100_000) trampoline.flush(turn);
    };
    trampoline.flush(turn);
    expect(turns).toBe(100_000);
  });

  it('B2 should deliver steps that cause steps without a stack that grows', () => {
    const { trampoline, seen } = opened((id, its) => {
      if (Number(id) < 100_000) its.emit(step(String(Number(id) + 1)));
    });
    trampoline.emit(step('1'));
    expect(seen).toHaveLength(100_000);
  });

  it('should be ready for more after all that', () => {
    const { trampoline, seen } = opened();
    trampoline.flush(() => trampoline.push(step('a')));
    trampoline.emit(step('b'));
    trampoline.flush(() => seen.push('turn'));
    expect(seen).toEqual(['a', 'b', 'turn']);
  });
});

describe('trampolined', () => {
  it('should complete with the work', () => {
    expect(observe(() => EMPTY).seen).toEqual(['complete']);
  });

  it('should fail with the work', () => {
    expect(observe(() => throwError(() => new Error('broken'))).seen).toEqual(['error Error: broken']);
  });

  it('should fail if the work cannot even begin', () => {
    const cannot = (): never => {
      throw new Error('broken');
    };
    expect(observe(cannot).seen).toEqual(['error Error: broken']);
  });

  it('should never end while the work does not', () => {
    expect(observe(() => NEVER).seen).toEqual([]);
  });

  it('should not emit what the work does, but what leaves by the trampoline', () => {
    expect(observe(() => of(1, 2)).seen).toEqual(['complete']);
  });

  it.each([
    ['complete', (end: Subject<unknown>) => end.complete(), 'complete'],
    ['fail', (end: Subject<unknown>) => end.error(new Error('broken')), 'error Error: broken'],
  ])('should %s only after the steps before it, though one of them ended the work', (_name, ends, last) => {
    const { trampoline, end, seen } = opened((id) => {
      if (id === 'a') ends(end);
    });
    trampoline.push(step('a'));
    trampoline.emit(step('b'));
    expect(seen).toEqual(['a', 'b', last]);
  });

  it('should complete only after the turns before it', () => {
    const { trampoline, end, seen } = opened();
    trampoline.flush(() => {
      trampoline.flush(() => trampoline.push(step('of the last turn')));
      end.complete();
    });
    expect(seen).toEqual(['of the last turn', 'complete']);
  });

  it('should deliver what was never flushed before it completes', () => {
    const { trampoline, end, seen } = opened();
    trampoline.push(step('a'));
    end.complete();
    expect(seen).toEqual(['a', 'complete']);
  });

  it('should let go of the work when it is unsubscribed, and be silent', () => {
    const { trampoline, end, seen, subscription } = opened();
    expect(end.observed).toBe(true);
    subscription.unsubscribe();
    expect(end.observed).toBe(false);
    trampoline.emit(step('a'));
    expect(seen).toEqual([]);
  });

  it('should be silent after an observer that unsubscribes while it is told', () => {
    const { trampoline, seen, subscription } = opened(() => {
      subscription.unsubscribe();
    });
    trampoline.push(step('a'));
    trampoline.emit(step('b'));
    expect(seen).toEqual(['a']);
  });

  it('B4 should have a trampoline of its own for each subscription', () => {
    const trampolines = new Set<Trampoline>();
    const steps = trampolined((trampoline) => {
      trampolines.add(trampoline);
      trampoline.emit(step('a'));
      return EMPTY;
    });
    const seen: string[] = [];
    steps.subscribe(({ id }) => seen.push(id));
    steps.subscribe(({ id }) => seen.push(id));
    expect(seen).toEqual(['a', 'a']);
    expect(trampolines.size).toBe(2);
  });
});
