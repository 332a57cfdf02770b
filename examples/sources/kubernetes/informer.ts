import { type KubeConfig, type KubernetesListObject, type KubernetesObject, ListWatch, Watch } from '@kubernetes/client-node';
import { type Backoff, exponential } from 'kreconciler';
import { defer, filter, Observable, timeout } from 'rxjs';
import { reconnect } from '../support/reconnect.js';
import { Seen } from '../support/seen.js';
import { closable } from './closable.js';

/** What is watched. */
export interface InformerConfig<T extends KubernetesObject> {
  readonly kubeConfig: KubeConfig;
  /** What the watch asks for, as `/api/v1/namespaces/default/pods`. */
  readonly path: string;
  /** Lists the same, by a client that is made of this config, so that it can be let go. */
  readonly list: (kubeConfig: KubeConfig) => Promise<KubernetesListObject<T>>;
  readonly labelSelector?: string;
  /** Default `NAMESPACE/NAME`, or the name of what has no namespace. */
  readonly idOf?: (object: T) => string;
  /** After how long without an event or bookmark it lists again, in ms. Default 300_000: bookmarks come about once a minute. */
  readonly silence?: number;
  /** How long after the end of a watch it lists again. Default from 2_000 to 60_000 ms, and widely spread: all replicas hear the same end. */
  readonly backoff?: Backoff;
}

/**
 * Emits the id of each object that is there, is made, changed or deleted. A watch that ends, fails, is expired (410) or silent
 * is followed by a new list, with backoff; what was deleted meanwhile is missing in it, and is emitted, too.
 *
 * Never completes, never errors. Unsubscribing closes the connection. What is remembered is the ids, those removed for two lists.
 */
export function informer<T extends KubernetesObject>(config: InformerConfig<T>): Observable<string> {
  const { path, silence = 300_000, backoff = exponential({ initial: 2_000, max: 60_000, jitter: 0.9 }) } = config;
  return defer(() => {
    const seen = new Seen();
    return listAndWatch(config, seen).pipe(
      timeout({ each: silence }),
      filter((id) => id !== null),
      reconnect(`Kubernetes, ${path}`, backoff),
    );
  });
}

/** The client's informer until its first watch ends. By itself it would go on: at once, all replicas together, or not at all. */
function listAndWatch<T extends KubernetesObject>(config: InformerConfig<T>, seen: Seen): Observable<string | null> {
  const {
    kubeConfig,
    path,
    list,
    labelSelector,
    idOf = ({ metadata }: KubernetesObject) => [metadata?.namespace, metadata?.name].filter(Boolean).join('/'),
  } = config;
  return new Observable<string | null>((subscriber) => {
    const fail = (error: unknown): void => subscriber.error(error ?? new Error('the watch has ended'));
    const { own, close } = closable(kubeConfig);
    const watch = new Watch(own);
    const watchOnce: Watch['watch'] = (url, query, next) => {
      if (subscriber.closed) throw new Error('let go');
      const received: typeof next = (phase, object, event) => {
        // Also for an error, such as 410 for a version that is not kept any more: the informer waits for the end then.
        if (phase === 'ERROR') fail(new Error((object as { readonly message?: string }).message));
        else next(phase, object, event);
        subscriber.next(null);
      };
      return watch.watch(url, { ...query, allowWatchBookmarks: true }, received, fail);
    };
    const listed = async (): Promise<KubernetesListObject<T>> => {
      const objects = await list(own);
      const there = new Set(objects.items.map(idOf));
      for (const id of seen.missing(there)) subscriber.next(id);
      seen.confirm();
      return objects;
    };
    const changed = (object: T): void => {
      seen.add(idOf(object));
      subscriber.next(idOf(object));
    };
    const removed = (object: T): void => {
      seen.remove(idOf(object));
      subscriber.next(idOf(object));
    };
    const informing = new ListWatch<T>(
      path,
      Object.assign(Object.create(watch) as Watch, { watch: watchOnce }),
      listed,
      false,
      labelSelector,
    );
    informing.on('add', changed);
    informing.on('update', changed);
    informing.on('delete', removed);
    informing.on('error', fail);
    informing.start().catch(fail);
    return () => {
      void informing.stop();
      close();
    };
  });
}
