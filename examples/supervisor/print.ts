import { type LogFields, type Logger, noopLogger, type Step } from 'kreconciler';

const WIDTH = 8;

/** A step as people read it: `web       started, attempt 2`. */
export function describe(step: Step): string {
  return `${step.id.padEnd(WIDTH)}  ${whatHappened(step)}`;
}

function whatHappened(step: Step): string {
  switch (step.kind) {
    case 'enqueued':
      return step.reason === 'event'
        ? `enqueued by ${step.trigger?.stream ?? 'an event during its run'}`
        : `enqueued for its ${step.reason}`;
    case 'merged':
      return `merged an event of ${step.trigger?.stream ?? 'nobody'}`;
    case 'rejected':
      return `rejected: ${step.reason}${because(step.error)}`;
    case 'started':
      return `started${step.attempt > 1 ? `, attempt ${step.attempt}` : ''}`;
    case 'succeeded':
      return `succeeded in ${seconds(step.took)}`;
    case 'requeued':
      return `${step.failure === undefined ? 'runs again' : 'failed, tries again'} in ${seconds(step.delay)}${because(step.error)}`;
    case 'dropped':
      return `dropped: ${step.reason}${because(step.error)}`;
    case 'abandoned':
      return 'abandoned: its run does not end';
    case 'released':
      return 'released: its run has ended at last';
    case 'paused':
      return `paused${step.why === undefined ? '' : `: ${step.why}`}`;
    case 'resumed':
      return 'resumed';
  }
}

/** A step as programs read it. JSON knows no errors: they become their name and message. */
export function stepToJson(step: Step): string {
  return JSON.stringify(step, (_, value: unknown) => (value instanceof Error ? { name: value.name, message: value.message } : value));
}

/** A logger whose errors, and warnings from level `warn` on, become lines: the console would write across the table. */
export function lineLogger(level: 'warn' | 'error', print: (line: string) => void): Logger {
  const log = (message: string, { error }: LogFields = {}) => {
    print(`${message}${because(error)}`);
  };
  return { ...noopLogger, with: () => lineLogger(level, print), ...(level === 'warn' && { warn: log }), error: log };
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function because(error: unknown): string {
  return error === undefined ? '' : `: ${messageOf(error)}`;
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(ms < 10_000 ? 2 : 0)} s`;
}
