import type { HistoryStep } from '../../operators/history.js';
import { describeError, type ErrorDescription } from '../describe-error.js';
import type { StepMessage } from './api.js';
import { cut, cutAll } from './texts.js';

/** A step as JSON. */
export function stepMessage(step: HistoryStep): StepMessage {
  const { kind, id, worker, at, trigger, stream = trigger?.stream } = step;
  return {
    kind,
    id: cut(id),
    worker,
    at,
    ...(stream !== undefined && { stream: cut(stream) }),
    ...('streams' in step && { streams: cutAll(step.streams) }),
    ...('reason' in step && { reason: step.reason }),
    ...('attempt' in step && { attempt: step.attempt }),
    ...('waited' in step && { waited: step.waited }),
    ...('took' in step && { took: step.took }),
    ...('delay' in step && { delay: step.delay }),
    ...('failure' in step && { failure: step.failure }),
    ...('error' in step && { error: errorMessage(step.error) }),
    ...('why' in step && { why: cut(step.why) }),
  };
}

export function errorMessage(error: unknown): ErrorDescription {
  const { name, message } = describeError(error);
  return { name: cut(name), message: cut(message) };
}
