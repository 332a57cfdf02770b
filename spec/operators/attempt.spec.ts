import { describe, expect, it, vi } from 'vitest';
import { Attempt } from '../../operators/attempt.js';

const attempt = () => new Attempt('a', 3, 'dns', 2, 'retry', ['files']);
const error = new Error('cut off');
const cut = () => error;

describe('the context of a run', () => {
  it('should tell of the run', () => {
    expect(attempt()).toMatchObject({ id: 'a', worker: 3, workerName: 'dns', attempt: 2, reason: 'retry', streams: ['files'] });
  });

  it('should make no AbortController before the signal is read, and one only', () => {
    const made = vi.fn();
    vi.stubGlobal(
      'AbortController',
      class extends AbortController {
        constructor() {
          super();
          made();
        }
      },
    );
    const context = attempt();
    expect(made).not.toHaveBeenCalled();
    expect(context.signal).toBe(context.signal);
    expect(context.signal.aborted).toBe(false);
    expect(made).toHaveBeenCalledOnce();
  });

  it('should make none to be cut off', () => {
    const made = vi.fn();
    vi.stubGlobal('AbortController', made);
    attempt().abort(cut);
    expect(made).not.toHaveBeenCalled();
  });

  it('should make no reason before the signal is read, and one only', () => {
    const reason = vi.fn(cut);
    const context = attempt();
    context.abort(reason);
    expect(reason).not.toHaveBeenCalled();
    expect(context.signal).toBe(context.signal);
    expect(reason).toHaveBeenCalledOnce();
  });

  it('should abort the signal with the reason', () => {
    const context = attempt();
    const heard = vi.fn();
    context.signal.addEventListener('abort', heard);
    context.abort(cut);
    expect(heard).toHaveBeenCalledOnce();
    expect(context.signal).toMatchObject({ aborted: true, reason: error });
  });

  it('should have an aborted signal if it is read only after the cut', () => {
    const context = attempt();
    context.abort(cut);
    expect(context.signal).toMatchObject({ aborted: true, reason: error });
    expect(context.signal).toBe(context.signal);
  });

  it('should keep the signal lazy, and the same, for one who extends it by prototype', () => {
    const context = attempt();
    const extended = Object.create(Object.create(context) as Attempt) as Attempt & { logger?: string };
    extended.logger = 'mine';
    expect([extended.id, extended.attempt]).toEqual(['a', 2]);
    expect(extended.signal).toBe(context.signal);
    context.abort(cut);
    expect(extended.signal.reason).toBe(error);
  });

  it('should know its own kind', () => {
    expect(Attempt.isAttempt(attempt())).toBe(true);
    expect(Attempt.isAttempt(Object.create(attempt()) as object)).toBe(false);
  });
});
