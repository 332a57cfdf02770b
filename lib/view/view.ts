import { act, asked } from './act.js';
import { answer, json, notFound, RefusedError } from './answers.js';
import type { Action } from './api.js';
import { Document } from './document.js';
import { guard } from './guard.js';
import { idsQuery } from './ids-query.js';
import { LoopView } from './loop-view.js';
import { type ViewConfig, type ViewSettings, viewSettings } from './view-config.js';
import type { Viewed } from './viewed.js';

/** What may be done to a loop as a whole, and to an id. */
const OF_LOOP: readonly Action[] = ['pause', 'resume'];
const OF_ID: readonly Action[] = ['run', 'pause', 'resume', 'discard'];

/**
 * A page that shows what controllers are doing and why, and the JSON that it is made of, for any server that speaks fetch: give it all
 * requests whose path is `base` or below. It only reads, unless `allow` says that a request may do more.
 *
 * What it returns never rejects; a request that is not understood or not allowed is answered with a status from 400 on.
 *
 * @param controllers - one, or several by the names that they are to have
 * @throws TypeError if an argument is unusable; the message names it
 * @example
 * import { serve } from '@hono/node-server';
 *
 * serve({ fetch: view(controller), hostname: '127.0.0.1', port: 8080 });
 */
export function view(
  controllers: Viewed | Readonly<Record<string, Viewed>>,
  config: ViewConfig = {},
): (request: Request) => Promise<Response> {
  const settings = viewSettings(controllers, config);
  const loops = new Map(Array.from(settings.controllers, ([name, controller]) => [name, new LoopView(name, controller)]));
  const document = new Document({ base: `${settings.prefix}/`, controllers: [...loops.keys()] });
  const responseTo = async (request: Request): Promise<Response> => {
    try {
      return await new Visit(request, settings, loops, document).answer(guard(request, settings.hosts));
    } catch (error) {
      return error instanceof RefusedError ? error.response : new RefusedError(500, 'This went wrong').response;
    }
  };
  return async (request) => {
    const response = await responseTo(request);
    if (request.method !== 'HEAD') return response;
    await response.body?.cancel();
    return new Response(null, response);
  };
}

/** One request. */
class Visit {
  readonly #url: URL;

  constructor(
    readonly request: Request,
    readonly settings: ViewSettings,
    readonly loops: ReadonlyMap<string, LoopView>,
    readonly document: Document,
  ) {
    this.#url = new URL(request.url);
  }

  answer(may: 'read' | 'change'): Promise<Response> {
    const [api = '', name, ...rest] = this.#path();
    if (may === 'read' && api === '' && name === undefined) return this.document.response();
    const loop = api === 'api' && name !== undefined ? this.loops.get(name) : undefined;
    if (loop === undefined) throw notFound();
    return may === 'change' ? this.#change(loop, rest) : this.#read(loop, rest);
  }

  /** What comes below the base, decoded; nothing if it is the base itself. */
  #path(): readonly string[] {
    const { pathname } = this.#url;
    const { prefix } = this.settings;
    if (pathname === prefix) return [];
    if (!pathname.startsWith(`${prefix}/`)) throw notFound();
    try {
      return pathname
        .slice(prefix.length + 1)
        .split('/')
        .map(decodeURIComponent);
    } catch {
      throw new RefusedError(400, 'The address is not encoded as it has to be');
    }
  }

  async #read(loop: LoopView, [what, id, ...more]: readonly string[]): Promise<Response> {
    if (more.length > 0) throw notFound();
    if (what === undefined) return json(await loop.overview(await this.#allowed(OF_LOOP, loop, undefined)));
    if (what === 'ids' && id === undefined) return json(await loop.ids(idsQuery(this.#url.searchParams)));
    if (what === 'ids' && id !== undefined && id !== '') {
      return json(loop.id(id, await this.#allowed(OF_ID, loop, id), this.#url.searchParams.get('idle') === 'true'));
    }
    if (what === 'steps' && id === undefined) return answer(loop.steps.read(this.request.signal), 'text/event-stream; charset=utf-8');
    throw notFound();
  }

  async #change(loop: LoopView, [what, ...more]: readonly string[]): Promise<Response> {
    const action = OF_ID.find((each) => each === what);
    if (action === undefined || more.length > 0) throw notFound();
    const body = await asked(this.request, action);
    if (!(await this.#allows(action, loop, body.id))) throw new RefusedError(403, `To ${action} is not allowed; see \`allow\``);
    const user = await this.#said('user', () => this.settings.user(this.request), loop);
    return json(await act(action, body, loop.controller, this.request.signal, user));
  }

  async #allowed(actions: readonly Action[], loop: LoopView, id: string | undefined): Promise<readonly Action[]> {
    const answers = await Promise.all(actions.map((action) => this.#allows(action, loop, id)));
    return actions.filter((_, i) => answers[i]);
  }

  async #allows(action: Action, loop: LoopView, id: string | undefined): Promise<boolean> {
    // Nothing else that a user's function may answer is a yes.
    return (await this.#said('allow', () => this.settings.allow(this.request, action, id), loop)) === true;
  }

  /** What a function of the user answers; nothing if it throws. */
  async #said(name: 'allow' | 'user', ask: () => unknown, { controller }: LoopView): Promise<unknown> {
    try {
      return await ask();
    } catch (error) {
      controller.config.observability.logger.error(`\`${name}\` of the view threw`, { error });
      return undefined;
    }
  }
}
