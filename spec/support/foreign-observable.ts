import { type InteropObservable, observable, of, type Subscribable } from 'rxjs';

/** An Observable of another copy of rxjs: no instance of ours, but with the side that all copies share. */
export function foreign<T>(...values: T[]): InteropObservable<T> {
  const subscribable: Subscribable<T> = { subscribe: (observer) => of(...values).subscribe(observer) };
  return { [observable]: () => subscribable } as unknown as InteropObservable<T>;
}
