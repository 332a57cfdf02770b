import { distinctUntilChanged, map, type Observable } from 'rxjs';
import { Ask } from './ask.js';
import { Router } from './route.js';
import { Server } from './server.js';

/** How often, in ms, the page asks, draws what has come, and counts it. */
export const [EVERY, FRAME, TELL] = [1000, 200, 2000];

/** What all parts of the page have in common. */
export class Shell {
  readonly router: Router;
  readonly ask: Ask;
  /** The controller that is shown, now and from now on. */
  readonly name: Observable<string>;
  readonly #servers: ReadonlyMap<string, Server>;

  constructor(
    base: string,
    readonly controllers: readonly string[],
  ) {
    this.#servers = new Map(controllers.map((name) => [name, new Server(base, name)]));
    this.router = new Router(controllers);
    this.ask = new Ask(() => this.server(this.router.now.name));
    this.name = this.router.changes.pipe(
      map(({ name }) => name),
      distinctUntilChanged(),
    );
  }

  server(name: string): Server {
    const server = this.#servers.get(name);
    if (server === undefined) throw new Error('There is no controller');
    return server;
  }
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
