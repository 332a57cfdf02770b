import { map, type Observable, timeout } from 'rxjs';
import { fromFetch } from 'rxjs/fetch';

/** Where an endless answer of newline-delimited JSON comes from. */
export interface NdjsonConfig {
  readonly url: string;
  readonly headers?: Record<string, string>;
  /** How long without a line until the connection counts as dead, in ms: a few heartbeats of the server. Default 30_000. */
  readonly silence?: number;
}

/**
 * Emits the values of an endless HTTP answer, one a line, heartbeats included. Errors if the answer is no success, breaks off in
 * a line, holds what is no JSON, or is silent for too long; completes where the server ends it. Unsubscribing aborts the request.
 *
 * @example
 * ndjson<Watched>({ url: `${api}/api/v1/pods?watch=1&allowWatchBookmarks=true` }).pipe(reconnect('The watch of pods'));
 */
export function ndjson<T>({ url, headers = {}, silence = 30_000 }: NdjsonConfig): Observable<T> {
  return fromFetch(url, { headers, selector: lines }).pipe(
    timeout({ each: silence }),
    map((line) => JSON.parse(line) as T),
  );
}

async function* lines(response: Response): AsyncGenerator<string> {
  if (!response.ok) throw new Error(`${String(response.status)} ${response.statusText}: ${(await response.text()).slice(0, 200)}`);
  const decoder = new TextDecoder();
  let rest = '';
  for await (const bytes of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    const parts = `${rest}${decoder.decode(bytes, { stream: true })}`.split('\n');
    rest = parts.pop() ?? '';
    yield* parts.filter((line) => line.trim() !== '');
  }
  if (rest.trim() !== '') throw new Error('the answer broke off in the middle of a line');
}
