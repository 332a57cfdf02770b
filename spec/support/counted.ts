import { Observable } from 'rxjs';

/** `source`, and how often it was subscribed to, and how many subscriptions are open. */
export function counted<T>(source: Observable<T>): { source: Observable<T>; subscribed: () => number; open: () => number } {
  let subscribed = 0;
  let open = 0;
  return {
    source: new Observable((subscriber) => {
      subscribed++;
      open++;
      subscriber.add(() => open--);
      return source.subscribe(subscriber);
    }),
    subscribed: () => subscribed,
    open: () => open,
  };
}
