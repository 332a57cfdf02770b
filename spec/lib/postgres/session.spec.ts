import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { asyncScheduler, merge } from 'rxjs';
import type { ClientLike, Opener } from '../../../lib/postgres/connection.js';
import { type Session, session } from '../../../lib/postgres/session.js';

/** A client in memory that answers each statement after `delay` ms, and how it was closed. */
function opened(delay: number) {
  const sent: string[] = [];
  const closed: string[] = [];
  const client: ClientLike = {
    query: (text) => {
      sent.push(text);
      return new Promise((resolve) => {
        if (delay !== Infinity) setTimeout(() => resolve({ rows: [text] }), delay);
      });
    },
    on: () => undefined,
  };
  const opener: Opener = {
    open: () => ({ client: Promise.resolve(client), close: (how) => closed.push(how) }),
    close: () => undefined,
    refusal: 'no',
  };
  let current!: Session;
  const errors: unknown[] = [];
  const subscription = session(opener, { deadline: 1_000, scheduler: asyncScheduler }).subscribe({
    next: (session) => {
      current = session;
    },
    error: (error: unknown) => errors.push(error),
  });
  return { sent, closed, errors, subscription, session: () => current };
}

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const overdue = new Error('PostgreSQL did not answer within 1000 ms');

describe('A session of PostgreSQL', () => {
  it('should give each of many statements its time from when it is sent, however many are before it', async () => {
    const { session, sent, errors } = opened(5);
    await vi.advanceTimersByTimeAsync(0);
    const answers: unknown[] = [];
    const asked = Array.from({ length: 1_000 }, (_, i) => session().query({ text: `statement ${i}` }));
    merge(...asked).subscribe({ next: ([row]) => answers.push(row), error: (error: unknown) => answers.push(error) });
    await vi.advanceTimersByTimeAsync(5_000);
    expect(answers).toEqual(sent);
    expect(answers).toHaveLength(1_000);
    expect(errors).toEqual([]);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('should be lost with a statement that is not answered, and fail those behind it', async () => {
    const { session, sent, errors, closed } = opened(Infinity);
    await vi.advanceTimersByTimeAsync(0);
    const failures: unknown[] = [];
    for (const text of ['first', 'second'])
      session()
        .query({ text })
        .subscribe({ error: (error: unknown) => failures.push(error) });
    await vi.advanceTimersByTimeAsync(999);
    expect([errors, closed]).toEqual([[], []]);
    await vi.advanceTimersByTimeAsync(1);
    expect(errors).toEqual([overdue]);
    expect(failures).toEqual([overdue, overdue]);
    expect(sent).toEqual(['first']);
    expect(closed).toEqual(['at once']);
    session()
      .query({ text: 'third' })
      .subscribe({ error: (error: unknown) => failures.push(error) });
    expect(failures).toHaveLength(3);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('P3 should tear the connection down that it has asked to close in vain, though a statement was given up meanwhile', async () => {
    const { session, closed, subscription } = opened(Infinity);
    await vi.advanceTimersByTimeAsync(0);
    session().query({ text: 'first' }).subscribe().unsubscribe();
    await vi.advanceTimersByTimeAsync(400);
    subscription.unsubscribe();
    await vi.advanceTimersByTimeAsync(600);
    expect(closed).toEqual(['orderly', 'at once']);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('P3 should close at once where the statement before its farewell is never answered, though nobody waits for that any more', async () => {
    const { session, closed, subscription } = opened(Infinity);
    await vi.advanceTimersByTimeAsync(0);
    session().farewell = { text: 'farewell' };
    session().query({ text: 'first' }).subscribe().unsubscribe();
    await vi.advanceTimersByTimeAsync(400);
    subscription.unsubscribe();
    await vi.advanceTimersByTimeAsync(600);
    expect(closed).toEqual(['at once']);
    expect(vi.getTimerCount()).toBe(0);
  });
});
