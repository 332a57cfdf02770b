import { BarredError, EtcdError, UnavailableError } from './etcd-error.js';
import type { FetchResponse } from './fetch-like.js';

/** How the gateway says that something went wrong: in an answer, and within a stream, by old versions and by new ones. */
interface Refusal {
  readonly code?: number;
  readonly grpc_code?: number;
  readonly message?: string;
}

/** What etcd answered to a request that has one answer, be it by way of a stream. */
export async function answerOf(response: FetchResponse, url: string): Promise<unknown> {
  return understood(await response.text(), response, url);
}

/** What etcd says in a stream, message by message. It never ends well. */
export async function* messagesOf(response: FetchResponse, url: string): AsyncGenerator<unknown, never> {
  if (!response.ok) await answerOf(response, url);
  const reader = response.body?.getReader();
  const decoder = new TextDecoder();
  let rest = '';
  for (;;) {
    const { done, value } = (await reader?.read()) ?? { done: true };
    if (done) throw new UnavailableError(`etcd at ${url} closed the stream`);
    const lines = (rest + decoder.decode(value, { stream: true })).split('\n');
    rest = lines.pop() as string;
    for (const line of lines) if (line !== '') yield understood(line, response, url);
  }
}

/** What a proxy answers to those whom it does not let through. */
const BARRED: readonly number[] = [401, 403];

/** And to those who are to come again later. */
const BUSY: readonly number[] = [408, 429];

/** @throws EtcdError if that is what etcd says */
function understood(text: string, { ok, status }: FetchResponse, url: string): unknown {
  const message = parsed(text);
  if (message === undefined) {
    const Failure = BARRED.includes(status) ? BarredError : UnavailableError;
    throw new Failure(`etcd at ${url} answered ${status} and no JSON: it must be 3.4 or later, with its JSON gateway enabled`);
  }
  const { result, error } = message as { readonly result?: unknown; readonly error?: unknown };
  if (ok && (error === undefined || error === null)) return result ?? message;
  const { code, grpc_code, message: reason } = (typeof error === 'object' && error !== null ? error : message) as Refusal;
  const said = reason ?? `status ${status}`;
  const known = code ?? grpc_code;
  // It comes from somebody on the way: etcd has a code for everything.
  if (known === undefined && (status >= 500 || BUSY.includes(status)))
    throw new UnavailableError(`etcd at ${url} could not be reached: ${said}`);
  throw new EtcdError(`etcd at ${url} refused: ${said}`, known);
}

function parsed(text: string): object | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}
