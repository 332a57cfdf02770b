import { type MonoTypeOperatorFunction, tap } from 'rxjs';
import type { Step } from '../../operators/types.js';
import { harmless } from './harmless.js';

/** Shows each step to `observe`, and the error that ends them to `fail`, and passes them on, whatever these throw. */
export function observing(observe: (step: Step) => void, fail: (error: unknown) => void = () => undefined): MonoTypeOperatorFunction<Step> {
  return tap({ next: harmless(observe), error: harmless(fail) });
}
