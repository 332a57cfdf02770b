import { from, Observable, switchMap } from 'rxjs';
import { fromFetch } from 'rxjs/fetch';
import type { Action, Answer, Asked, IdDetails, IdPage, Missed, Overview, PageData, Refusal, StepMessage } from '../api.js';

/** Which ids are to be shown. */
export interface Query {
  readonly state: string;
  readonly search: string;
  readonly cursor?: string | undefined;
  readonly limit: number;
}

/** What comes out of a stream of steps. */
export type News = { readonly step: StepMessage } | { readonly missed: number } | { readonly connected: boolean };

/** The JSON of one controller, and its steps. */
export class Server {
  readonly #api: string;

  /** @param base - where the page is, as the browser sees it: a proxy may have put it elsewhere than the server knows */
  constructor(
    base: string,
    readonly name: string,
  ) {
    this.#api = `${base}api/${encodeURIComponent(name)}`;
  }

  overview(): Observable<Overview> {
    return this.#get<Overview>('');
  }

  ids({ state, search, cursor, limit }: Query): Observable<IdPage> {
    const query = new URLSearchParams({ limit: String(limit) });
    if (state !== '') query.set('state', state);
    if (search !== '') query.set('search', search);
    if (cursor !== undefined) query.set('cursor', cursor);
    return this.#get<IdPage>(`/ids?${query.toString()}`);
  }

  details(id: string): Observable<IdDetails> {
    return this.#get<IdDetails>(`/ids/${encoded(id)}?idle=true`);
  }

  /** Connects anew when it is cut; completes when the loop has ended. */
  steps(): Observable<News> {
    return new Observable((subscriber) => {
      const source = new EventSource(`${this.#api}/steps`);
      source.onopen = () => subscriber.next({ connected: true });
      source.onmessage = ({ data }: MessageEvent<string>) => subscriber.next({ step: JSON.parse(data) as StepMessage });
      source.addEventListener('missed', ({ data }: MessageEvent<string>) => {
        subscriber.next({ missed: (JSON.parse(data) as Missed).count });
      });
      source.addEventListener('end', () => subscriber.complete());
      source.onerror = () => {
        subscriber.next({ connected: false });
        // The browser itself tries again only after a connection was cut, not after an answer that it did not like.
        if (source.readyState === EventSource.CLOSED) subscriber.error(new Error('The stream of steps was refused'));
      };
      return () => {
        source.close();
      };
    });
  }

  ask(action: Action, asked: Asked): Observable<Answer> {
    return fromFetch(`${this.#api}/${action}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-kreconciler': '1' },
      body: JSON.stringify(asked),
    }).pipe(switchMap((response) => from(answerOf<Answer>(response))));
  }

  #get<T>(path: string): Observable<T> {
    return fromFetch(this.#api + path, { headers: { accept: 'application/json' }, cache: 'no-store' }).pipe(
      switchMap((response) => from(answerOf<T>(response))),
    );
  }
}

/** What the server has put into the page. */
export function pageData(): PageData {
  return JSON.parse(document.getElementById('view')?.textContent ?? '') as PageData;
}

async function answerOf<T>(response: Response): Promise<T> {
  if (response.ok) return (await response.json()) as T;
  const refusal = (await response.json().catch(() => undefined)) as Partial<Refusal> | undefined;
  throw new Error(refusal?.error ?? `The server answered ${response.status} ${response.statusText}`);
}

/** Half of a surrogate pair stands in no address; such an id is not found. */
function encoded(id: string): string {
  try {
    return encodeURIComponent(id);
  } catch {
    return encodeURIComponent(id.replace(/[\ud800-\udfff]/g, '\ufffd'));
  }
}
