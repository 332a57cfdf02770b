import { type RunHelpers, TestScheduler } from 'rxjs/testing';
import { expect } from 'vitest';

/** A test in virtual time, one ms a column. The scheduler is for what takes one. */
export function marbles(body: (helpers: RunHelpers & { readonly scheduler: TestScheduler }) => void): () => void {
  return () => {
    const scheduler = new TestScheduler((actual, wanted) => {
      expect(actual).toEqual(wanted);
    });
    scheduler.run((helpers) => {
      body({ ...helpers, scheduler });
    });
  };
}
