import { context, ROOT_CONTEXT, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { execFile } from 'node:child_process';
import { inspect, promisify } from 'node:util';
import { of } from 'rxjs';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { consoleLogger, loggerWithContext, logSnapshotOn, logSteps, noopLogger, type Step } from 'kreconciler';
import { logged } from '../../support/logged.js';
import { tracedSdk } from '../../support/traced.js';

describe('consoleLogger', () => {
  // prettier-ignore -- aligned
  it.each([
    ['debug', ['debug', 'info', 'warn', 'error']],
    ['info', ['info', 'warn', 'error']],
    ['warn', ['warn', 'error']],
    ['error', ['error']],
  ] as const)('should at level %s let through %j, and say so', (level, through) => {
    const logger = consoleLogger(level).with({ app: 'dns' });
    for (const at of ['debug', 'info', 'warn', 'error'] as const) {
      const write = vi.spyOn(console, at).mockReturnValue();
      logger[at]('hello', { id: 'x' });
      expect(write.mock.calls).toEqual((through as readonly string[]).includes(at) ? [['hello', { app: 'dns', id: 'x' }]] : []);
      expect(logger.isEnabled?.(at)).toBe(write.mock.calls.length === 1);
    }
  });
});

describe('a level of consoleLogger', () => {
  it('should be refused if there is none of that name', () => {
    expect(() => consoleLogger('warning' as 'warn')).toThrow(
      new TypeError('Expected `level` to be one of debug, info, warn, error, got `warning` (string)'),
    );
  });
});

describe('the fields of consoleLogger', () => {
  const printed = (fields: object): string => {
    const write = vi.spyOn(console, 'info').mockReturnValue();
    consoleLogger().info('snapshot', fields as Record<string, unknown>);
    return inspect(write.mock.lastCall![1], { breakLength: Infinity });
  };

  it('should never be cut off as [Object]', () => {
    const ids = [{ id: 'web', worker: 0, state: 'waiting', lastError: { name: 'Error' }, failure: new Error('boom') }];
    expect(printed({ snapshot: { leading: true, ids } })).toBe(
      `{ snapshot: '{"leading":true,"ids":[{"id":"web","worker":0,"state":"waiting","lastError":{"name":"Error"},"failure":"Error: boom"}]}' }`,
    );
  });

  it('should be left as they are where the console shows them whole, or where there is no JSON of them', () => {
    expect(printed({ ids: [{ id: 'web' }] })).toBe("{ ids: [ { id: 'web' } ] }");
    const circle: Record<string, unknown> = { to: { nowhere: {} } };
    circle['to'] = { circle };
    expect(printed({ circle })).toMatch(/^\{ circle: <ref/);
  });
});

describe('consoleLogger, given what the console throws at', () => {
  it('should describe it', () => {
    const error = Object.defineProperty(new Error('disk full'), 'stack', {
      get: () => {
        throw new Error('no stack');
      },
    });
    const written: unknown[] = [];
    vi.spyOn(console, 'error').mockImplementation((message, fields) => {
      written.push([message, inspect(fields)]);
    });
    consoleLogger().error('list failed', { error, failures: 2 });
    expect(written).toEqual([['list failed', "{ error: { name: 'Error', message: 'disk full' }, failures: 2 }"]]);
  });
});

describe('noopLogger', () => {
  it('should be the same when it is bound, so that it is known by its identity', () => {
    expect(noopLogger.with({ id: 'x' })).toBe(noopLogger);
  });

  it('should be spread into a logger that does log', () => {
    const warn = vi.fn();
    of<Step>({ kind: 'abandoned', id: 'x', worker: 0, at: 0 })
      .pipe(logSteps({ ...noopLogger, warn }))
      .subscribe();
    expect(warn).toHaveBeenCalledExactlyOnceWith('abandoned', { id: 'x', worker: 0 });
  });
});

describe('loggerWithContext', () => {
  afterEach(() => {
    context.disable();
  });

  it('should bind the active span', () => {
    context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
    const { logger, lines } = logged();
    const span = tracedSdk().tracer.startSpan('x');
    context.with(trace.setSpan(ROOT_CONTEXT, span), () => {
      loggerWithContext(logger).info('hello', { id: 'x' });
    });
    const { traceId, spanId } = span.spanContext();
    expect(lines).toEqual([['info', 'hello', { id: 'x', traceId, spanId }]]);
  });

  it('should be the logger itself where there is none', () => {
    expect(loggerWithContext(noopLogger)).toBe(noopLogger);
    expect(loggerWithContext(noopLogger, trace.setSpan(ROOT_CONTEXT, trace.getTracer('none').startSpan('x')))).toBe(noopLogger);
  });
});

describe('logSnapshotOn', () => {
  const controller = { inspect: () => ({ ready: 3 }) };

  it('should log the snapshot at each signal, until it is unsubscribed', () => {
    const { logger, lines } = logged();
    const subscription = logSnapshotOn('SIGUSR2', controller, logger);
    process.emit('SIGUSR2');
    process.emit('SIGUSR2');
    expect(lines).toEqual(Array(2).fill(['info', 'snapshot', { snapshot: { ready: 3 } }]));
    subscription.unsubscribe();
    expect(process.listenerCount('SIGUSR2')).toBe(0);
  });

  // Only the main thread can listen to signals, so that Node refuses nothing elsewhere.
  it('should hear a real signal, and throw at the call if one cannot be listened to', { timeout: 60_000 }, async () => {
    const script = `
      import { consoleLogger, logSnapshotOn } from 'kreconciler';
      const controller = { inspect: () => ({ ready: 3 }) };
      const snapshots = logSnapshotOn('SIGUSR2', controller, { ...consoleLogger(), info: (message, fields) => {
        console.log(message, JSON.stringify(fields));
        snapshots.unsubscribe();
        clearInterval(alive);
      } });
      const alive = setInterval(() => {}, 1000);
      try { logSnapshotOn('SIGKILL', controller, consoleLogger()); } catch (error) { console.log(error.code); }
      process.kill(process.pid, 'SIGUSR2');`;
    const { stdout } = await promisify(execFile)(process.execPath, ['--import', 'tsx', '--input-type=module', '--eval', script]);
    expect(stdout).toBe('EINVAL\nsnapshot {"snapshot":{"ready":3}}\n');
  });

  it('should throw at the call if that is no signal', () => {
    expect(() => logSnapshotOn('usr2', controller, noopLogger)).toThrow(
      /`signal` to be the name of a signal, such as `SIGUSR2`, got `usr2` \(string\)/,
    );
  });
});
