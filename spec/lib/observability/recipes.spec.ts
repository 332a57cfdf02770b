import { PassThrough } from 'node:stream';
import { of } from 'rxjs';
import { describe, expect, it } from 'vitest';
import { type Logger, logSteps, tracing } from 'kreconciler';
import { reconcile } from 'kreconciler/operators';
import { makePino, pinoLogger } from '../../../examples/telemetry/pino-logger.js';
import { makeWinston, winstonLogger } from '../../../examples/telemetry/winston-logger.js';
import { tracedSdk } from '../../support/traced.js';

const NUMBERS: Record<number, string> = { 20: 'debug', 30: 'info', 40: 'warn', 50: 'error' };

interface Recipe {
  readonly logger: Logger;
  readonly setLevel: (level: string) => void;
  readonly lines: () => Record<string, unknown>[];
}

function recipe(make: (stream: PassThrough) => Omit<Recipe, 'lines'>): Recipe {
  const stream = new PassThrough();
  const lines = (): Record<string, unknown>[] =>
    String(stream.read() ?? '')
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as Record<string, unknown>)
      .map((line) => ({ ...line, message: line['message'] ?? line['msg'], level: NUMBERS[line['level'] as number] ?? line['level'] }));
  return { ...make(stream), lines };
}

describe.each<[string, () => Recipe]>([
  [
    'pino',
    () =>
      recipe((stream) => {
        const logger = makePino(stream);
        return { logger: pinoLogger(logger), setLevel: (level) => (logger.level = level) };
      }),
  ],
  [
    'winston',
    () =>
      recipe((stream) => {
        const logger = makeWinston(stream);
        return { logger: winstonLogger(logger), setLevel: (level) => (logger.level = level) };
      }),
  ],
])('the recipe for %s', (_, make) => {
  it('should write message, level and fields', () => {
    const { logger, lines, setLevel } = make();
    setLevel('debug');
    for (const level of ['debug', 'info', 'warn', 'error'] as const) logger[level](`at ${level}`, { id: 'x', delay: 5 });
    logger.info('alone');
    const written = lines();
    expect(written.slice(0, 4).map(({ level, message, id, delay }) => [level, message, id, delay])).toEqual([
      ['debug', 'at debug', 'x', 5],
      ['info', 'at info', 'x', 5],
      ['warn', 'at warn', 'x', 5],
      ['error', 'at error', 'x', 5],
    ]);
    expect(written[4]).toMatchObject({ level: 'info', message: 'alone' });
  });

  it('should bind fields', () => {
    const { logger, lines } = make();
    logger.with({ app: 'dns' }).with({ zone: 'a' }).info('hello', { id: 'x' });
    logger.info('bare');
    const [bound, bare] = lines();
    expect(bound).toMatchObject({ app: 'dns', zone: 'a', id: 'x', message: 'hello' });
    expect(bare).not.toHaveProperty('app');
  });

  it('should know which levels go nowhere, also after the level has been changed', () => {
    const { logger, setLevel } = make();
    expect([logger.isEnabled?.('debug'), logger.isEnabled?.('info')]).toEqual([false, true]);
    setLevel('error');
    expect(logger.isEnabled?.('warn')).toBe(false);
  });

  it('should write the failure of an attempt with its stack and its trace', () => {
    const { logger, lines } = make();
    const { tracer, spans } = tracedSdk();
    const traces = tracing({ tracer });
    of('x')
      .pipe(
        reconcile(
          traces.traced(() => {
            throw new Error('boom');
          }),
          { maxItemRetries: 0 },
        ),
        traces.record(),
        logSteps(logger, traces),
      )
      .subscribe();
    const [handle] = spans('handle');
    expect(lines()).toEqual([
      expect.objectContaining({
        level: 'warn',
        message: 'dropped',
        id: 'x',
        worker: 0,
        attempt: 1,
        reason: 'retries',
        error: expect.objectContaining({ message: 'boom', stack: expect.stringContaining('recipes.spec') as string }) as object,
        traceId: handle!.spanContext().traceId,
        spanId: handle!.spanContext().spanId,
      }),
    ]);
  });
});
