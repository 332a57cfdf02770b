import type { ReconcileConfig, ReconcileSettings } from '../../operators/config.js';
import { isTerminal, retryDelayOf, TerminalError } from '../../operators/errors.js';
import { shown } from '../../operators/shown.js';
import type { Step } from '../../operators/types.js';
import { describeError } from '../describe-error.js';

const VERSION = 1;
const NUMBERS = [
  'maxItemRetries',
  'workerQueueSize',
  'workerCount',
  'workerConcurrency',
  'concurrency',
  'cooldown',
  'delayResolution',
  'delayQueueSize',
  'maxReconcileTime',
  'shutdownGrace',
] as const;

/** What is left of an error in a journal. */
interface RecordedError {
  readonly name: string;
  readonly message: string;
  readonly retryDelay?: number | undefined;
  readonly terminal?: true | undefined;
}

/** A journal that was read. */
export interface Journal {
  readonly config: ReconcileConfig;
  readonly steps: readonly Step[];
}

export function encodeHeader(settings: ReconcileSettings): string {
  // JSON has no Infinity.
  const config = Object.fromEntries(NUMBERS.map((name) => [name, settings[name] === Infinity ? 'Infinity' : settings[name]]));
  return JSON.stringify({ journal: 'kreconciler', version: VERSION, config });
}

/** Each line has its number, so that one that is missing is missed. */
export function encodeStep(step: Step, index: number): string {
  const { trigger, ...rest } = step;
  return JSON.stringify({
    line: index + 2,
    ...rest,
    ...(trigger === undefined
      ? {}
      : { trigger: { id: step.id, stream: trigger.stream, priority: trigger.priority, force: trigger.force } }),
    ...('error' in step ? { error: encodeError(step.error) } : {}),
  });
}

/** @throws TypeError if these are not the lines of a journal, if it is of a newer version, or if some of it is missing */
export function decode(journal: string | Iterable<string>): Journal {
  const lines = [...(typeof journal === 'string' ? journal.split('\n') : journal)].map((line) => line.trim());
  while (lines.at(-1) === '') lines.pop();
  const [header, ...steps] = lines.map((line, i) => parse(line, i, lines.length));
  const { version, config } = checkedHeader(header);
  if (version > VERSION) {
    throw new TypeError(
      `Expected a journal of version ${String(VERSION)} or older, got version ${String(version)}: a newer kreconciler has written it, use that to replay it`,
    );
  }
  return {
    config: Object.fromEntries(Object.entries(config).map(([name, value]) => [name, Number(value)])),
    steps: steps.map((step, i) => decodeStep(step, i + 2)),
  };
}

function parse(line: string, index: number, count: number): unknown {
  try {
    return JSON.parse(line);
  } catch {
    const end = index === count - 1 ? ': the journal was cut in the middle of it' : '';
    throw new TypeError(`Expected line ${String(index + 1)} of the journal to be JSON, got ${shown(line)}${end}`);
  }
}

function checkedHeader(header: unknown): { version: number; config: Record<string, unknown> } {
  const { journal, version, config } = (header ?? {}) as Record<string, unknown>;
  if (journal !== 'kreconciler' || typeof version !== 'number' || typeof config !== 'object' || config === null) {
    throw new TypeError(`Expected a journal to begin with the line that says so, got ${shown(header)}: is its beginning cut off?`);
  }
  return { version, config: config as Record<string, unknown> };
}

function decodeStep(record: unknown, expectedLine: number): Step {
  const { line, ...step } = record as { line?: unknown } & Record<string, unknown>;
  if (line !== expectedLine) {
    throw new TypeError(`Expected line ${String(expectedLine)} of the journal, got line ${String(line)}: some of it is missing`);
  }
  return ('error' in step ? { ...step, error: decodeError(step['error'] as RecordedError) } : step) as unknown as Step;
}

function encodeError(error: unknown): RecordedError {
  return { ...describeError(error), retryDelay: retryDelayOf(error), terminal: isTerminal(error) || undefined };
}

function decodeError({ name, message, retryDelay, terminal }: RecordedError): Error {
  const error = terminal === true ? new TerminalError(message) : new Error(message);
  return Object.assign(Object.defineProperty(error, 'name', { value: name }), retryDelay === undefined ? {} : { retryDelay });
}
