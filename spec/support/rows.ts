import type { Step } from 'kreconciler/operators';
import type { Observable } from 'rxjs';
import { type RunHelpers, TestScheduler } from 'rxjs/testing';
import { expect } from 'vitest';

/** A picture of a loop: a marble row for each kind of step, whose values are ids; `ends` is where it completes or errors. */
export type Rows = { readonly [K in Step['kind'] | 'ends']?: string };

export interface RowHelpers extends RunHelpers {
  readonly scheduler: TestScheduler;
  /**
   * Expects exactly these steps, each at its moment; a kind without a row must not occur. A loop that may go on for ever
   * needs `until`, a row with `!` where it is unsubscribed.
   */
  readonly expectSteps: (steps: Observable<Step>, until?: string) => { toBe: (rows: Rows, ids?: Readonly<Record<string, string>>) => void };
}

/**
 * A test in virtual time, one ms a column.
 *
 * @example
 * test('should run what it is told', rows(({ hot, expectSteps, scheduler }) => {
 *   const source = hot('  -a-|');
 *   expectSteps(source.pipe(reconcile(() => undefined, { scheduler }))).toBe({
 *     enqueued:          '-a--',
 *     started:           '-a--',
 *     succeeded:         '-a--',
 *     ends:              '---|',
 *   });
 * }));
 */
export function rows(body: (helpers: RowHelpers) => void): () => void {
  return () => {
    const scheduler = new TestScheduler((actual, wanted) => {
      expect(actual).toEqual(wanted);
    });
    const checks: (() => void)[] = [];
    scheduler.run((helpers) => {
      body({
        ...helpers,
        scheduler,
        expectSteps: (steps, until = '') => ({
          toBe: (wanted, ids = {}) => {
            const actual = recorded(scheduler, steps, until.includes('!') ? (messages(until)[0]?.frame ?? Infinity) : Infinity);
            const expected = parsed(wanted, ids);
            checks.push(() => {
              expect(actual).toEqual(expected);
            });
          },
        }),
      });
    });
    for (const check of checks) check();
  };
}

/** For each row its entries, such as `3 a`: at 3 ms, id a. */
type Entries = Partial<Record<keyof Rows, string[]>>;

function recorded(scheduler: TestScheduler, steps: Observable<Step>, until: number): Entries {
  const entries: Entries = {};
  const record = (row: keyof Rows, what: string): void => {
    (entries[row] ??= []).push(`${scheduler.frame} ${what}`);
  };
  scheduler.schedule(() => {
    const subscription = steps.subscribe({
      next: ({ kind, id }) => {
        record(kind, id);
      },
      error: () => {
        record('ends', '#');
      },
      complete: () => {
        record('ends', '|');
      },
    });
    if (until < Infinity) scheduler.schedule(() => subscription.unsubscribe(), until);
  });
  return entries;
}

function parsed(rows: Rows, ids: Readonly<Record<string, string>>): Entries {
  const entries: Entries = {};
  for (const [row, marbles] of Object.entries(rows) as [keyof Rows, string][]) {
    const wanted = messages(marbles).map(({ frame, what }) => `${frame} ${ids[what] ?? what}`);
    if (wanted.length > 0) entries[row] = wanted;
  }
  return entries;
}

function messages(marbles: string): { frame: number; what: string }[] {
  return TestScheduler.parseMarbles(marbles.replace('!', '|'), undefined, undefined, false, true).map(({ frame, notification }) => ({
    frame,
    what: notification.kind === 'N' ? (notification.value as string) : notification.kind === 'C' ? '|' : '#',
  }));
}
