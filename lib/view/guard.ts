import { RefusedError } from './answers.js';

/**
 * The one place that decides, by method, who gets in and whether it may change anything (V1, V2): to do that, only the page itself, and
 * nobody at all by a name that is not ours.
 *
 * @throws RefusedError
 */
export function guard(request: Request, hosts: ReadonlySet<string>): 'read' | 'change' {
  const host = hostOf(request);
  if (!isOurs(host, hosts)) throw new RefusedError(403, 'This server is not known by that name; see `hosts`');
  if (request.method === 'GET' || request.method === 'HEAD') return 'read';
  if (request.method !== 'POST') throw new RefusedError(405, 'Expected GET or POST', { allow: 'GET, HEAD, POST' });
  if (request.headers.get('x-kreconciler') !== '1') throw new RefusedError(403, 'Expected the header `x-kreconciler: 1`');
  if (!isSameOrigin(request.headers, host)) {
    throw new RefusedError(403, 'Expected a request from the same origin: an `Origin` that is equal to `Host`');
  }
  return 'change';
}

/** As the client says; an adapter may have made up the rest of the address. */
function hostOf(request: Request): URL | undefined {
  return hostFrom(request.headers.get('host') ?? new URL(request.url).host);
}

/** A host, with or without a port, as all of them are compared. Nothing if it is none. */
export function hostFrom(text: string): URL | undefined {
  return /[\s/?#@\\]/.test(text) ? undefined : address(`http://${text}`);
}

/** A name that is ours, or no name at all: others could be made to point here (DNS rebinding). */
function isOurs(host: URL | undefined, hosts: ReadonlySet<string>): host is URL {
  if (host === undefined) return false;
  const { hostname } = host;
  const isLoopback = hostname === 'localhost' || hostname.endsWith('.localhost');
  const isAddress = /^\d+\.\d+\.\d+\.\d+$/.test(hostname) || hostname.startsWith('[');
  return isLoopback || isAddress || hosts.has(hostname) || hosts.has(host.host);
}

/** A browser says where a request comes from; over plain HTTP to another machine it says only the origin. */
function isSameOrigin(headers: Headers, host: URL): boolean {
  const site = headers.get('sec-fetch-site');
  if (site !== null) return site === 'same-origin';
  const origin = address(headers.get('origin') ?? '');
  return origin !== undefined && address(`${origin.protocol}//${host.host}`)?.host === origin.host && origin.host !== '';
}

function address(text: string): URL | undefined {
  try {
    return new URL(text);
  } catch {
    return undefined;
  }
}
