import { type MonoTypeOperatorFunction, tap } from 'rxjs';
import type { Step } from '../../operators/types.js';
import { safely } from './safely.js';

/** Shows each step to `observe`, and the error that ends them to `fail`, and passes them on, whatever these throw. */
export function tapSafely(observe: (step: Step) => void, fail: (error: unknown) => void = () => undefined): MonoTypeOperatorFunction<Step> {
  return tap({ next: safely(observe), error: safely(fail) });
}
