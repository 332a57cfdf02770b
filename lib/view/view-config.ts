import { check, checkFunction, checkObject } from '../../operators/check.js';
import type { Action } from './api.js';
import { hostFrom } from './guard.js';
import { isViewed, type Viewed } from './viewed.js';

/** How a {@link view} behaves. */
export interface ViewConfig {
  /** Where the page is, as this server sees it; the rest is below. Default `'/'`. */
  readonly base?: string | undefined;
  /**
   * Whether `request` may do `action`, to `id` or without one to the whole loop; it is asked for what is shown as well, before a button is
   * offered. Only `true` is a yes; one that throws is logged, and is none. The body of the request has been read. Default: nobody may change
   * anything.
   */
  readonly allow?: ((request: Request, action: Action, id: string | undefined) => boolean | Promise<boolean>) | undefined;
  /**
   * Who asks: the name by which the log line of a change says so. It is asked once `allow` has said yes, and decides nothing: without a name,
   * or if it throws, which is logged, the change is made. Default: the line names nobody.
   */
  readonly user?: ((request: Request) => string | undefined | Promise<string | undefined>) | undefined;
  /**
   * The host names, or names with a port, by which this server is called, besides `localhost` and addresses. Default none: who is called by
   * another name may be the victim of a name that was made to point here.
   */
  readonly hosts?: readonly string[] | undefined;
}

/** A {@link ViewConfig} that is checked and whole. */
export interface ViewSettings {
  /** Without a slash at its end, so nothing for `'/'`. */
  readonly prefix: string;
  readonly controllers: ReadonlyMap<string, Viewed>;
  readonly allow: NonNullable<ViewConfig['allow']>;
  readonly user: NonNullable<ViewConfig['user']>;
  readonly hosts: ReadonlySet<string>;
}

/** @throws TypeError that names the field, what was expected and what came */
export function viewSettings(controllers: unknown, config: ViewConfig): ViewSettings {
  checkObject('config', config);
  const { base = '/', allow = () => false, user = () => undefined, hosts = [] } = config;
  const isPath = typeof base === 'string' && base.startsWith('/') && !base.includes('//') && pathOf(base) === base;
  check('base', base, 'a path that begins with `/`, as it stands in an address', isPath);
  checkFunction('allow', allow);
  checkFunction('user', user);
  check('hosts', hosts, 'an array of host names', Array.isArray(hosts) && hosts.every(isHost));
  return {
    prefix: base.replace(/\/$/, ''),
    controllers: byName(controllers),
    allow,
    user,
    // As a request has it: without the port of http, and in ASCII.
    hosts: new Set(hosts.map((host) => hostFrom(host)?.host ?? host)),
  };
}

function byName(controllers: unknown): ReadonlyMap<string, Viewed> {
  if (isViewed(controllers)) return byName({ [controllers.config.name ?? 'default']: controllers });
  checkObject('controllers', controllers);
  const named = new Map(Object.entries(controllers as Record<string, unknown>));
  check('controllers', controllers, 'a Controller, or a record of them by name', named.size > 0 && !Array.isArray(controllers));
  for (const [name, controller] of named) {
    const isSegment = name !== '' && name !== '.' && name !== '..' && !/\p{Surrogate}/u.test(name);
    check('controllers', name, 'named by what can stand in an address', isSegment);
    check(`controllers[${JSON.stringify(name)}]`, controller, 'a Controller', isViewed(controller));
  }
  return named as Map<string, Viewed>;
}

/** A name, or one with a port: what `Host` may say, so no address of a page. */
function isHost(host: unknown): boolean {
  return typeof host === 'string' && hostFrom(host) !== undefined;
}

function pathOf(base: string): string | undefined {
  try {
    return new URL(base, 'http://localhost').pathname;
  } catch {
    return undefined;
  }
}
