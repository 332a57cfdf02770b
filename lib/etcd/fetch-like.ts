/**
 * The part of `fetch` that is used here. An own one may bring certificates or a token, and must heed the signal.
 *
 * @example
 * const withToken: FetchLike = (url, init) => fetch(url, { ...init, headers: { ...init.headers, authorization: token } });
 */
export type FetchLike = (url: string, init: FetchInit) => Promise<FetchResponse>;

/** What `fetch` gets besides the address. */
export interface FetchInit {
  readonly method: 'POST';
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly signal: AbortSignal;
}

/** What `fetch` answers. */
export interface FetchResponse {
  readonly ok: boolean;
  readonly status: number;
  /** The whole body. */
  text(): Promise<string>;
  readonly body: FetchBody | null;
}

/** A body that can be read as it comes. */
export interface FetchBody {
  /** What reads it. */
  getReader(): BodyReader;
}

/** Reads a body, chunk by chunk. */
export interface BodyReader {
  /** The next chunk, or that there is none. */
  read(): Promise<{ readonly done: boolean; readonly value?: Uint8Array | undefined }>;
}
