import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** What is wanted and what is, for loops in other processes: `GET /ID` reads the one, `PUT /ID` writes the other. */
export interface Store {
  readonly url: string;
  readonly desired: Map<string, number>;
  /** Values grow, and an older one is refused: so a run that was given up cannot undo its successor's. */
  readonly actual: Map<string, number>;
  close(): void;
}

export async function store(): Promise<Store> {
  const [desired, actual] = [new Map<string, number>(), new Map<string, number>()];
  const server = createServer((request, response) => {
    const id = decodeURIComponent(request.url?.slice(1) ?? '');
    if (request.method === 'PUT') {
      request.setEncoding('utf8').on('data', (value: string) => actual.set(id, Math.max(Number(value), actual.get(id) ?? 0)));
    }
    request.resume().on('end', () => response.end(String(desired.get(id) ?? 0)));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`,
    desired,
    actual,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

/** Reconciles an id against the store at `url`. */
export async function makeRight(url: string, id: string): Promise<void> {
  const at = `${url}/${encodeURIComponent(id)}`;
  const wanted = await (await fetch(at)).text();
  await (await fetch(at, { method: 'PUT', body: wanted })).text();
}
