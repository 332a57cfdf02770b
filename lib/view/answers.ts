import type { Refusal } from './api.js';

/** Nothing may be loaded, framed, or run; the page itself says what it needs. */
const NOTHING = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** Of each answer, whatever it is. There is none that lets other sites in. */
export function answer(body: string | ReadableStream<Uint8Array>, type: string, status = 200, policy = NOTHING): Response {
  return new Response(body, {
    status,
    headers: {
      'content-type': type,
      'cache-control': 'no-store',
      'content-security-policy': policy,
      'cross-origin-opener-policy': 'same-origin',
      'cross-origin-resource-policy': 'same-origin',
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
    },
  });
}

export function json(value: unknown, status = 200): Response {
  return answer(JSON.stringify(value), 'application/json; charset=utf-8', status);
}

/** Why a request is not answered; thrown, and told by the status and a {@link Refusal}. */
export class RefusedError extends Error {
  constructor(
    readonly status: number,
    message: string,
    readonly headers: Readonly<Record<string, string>> = {},
  ) {
    super(message);
  }

  get response(): Response {
    const refusal: Refusal = { error: this.message };
    const response = json(refusal, this.status);
    for (const [name, value] of Object.entries(this.headers)) response.headers.set(name, value);
    return response;
  }
}

export function notFound(): RefusedError {
  return new RefusedError(404, 'There is nothing here');
}
