import { createAdaptorServer } from '@hono/node-server';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';

/** Nobody else may look, let alone pause: what the page offers is not protected by a password. */
const HOST = '127.0.0.1';

export interface ViewServer {
  readonly url: string;
  /** Why it is not at the port that was wanted, if it is not. */
  readonly instead?: string;
  close(): Promise<void>;
}

/** Serves what speaks fetch, on loopback only; where `port` cannot be had, another one that is free. */
export async function serveView(fetch: (request: Request) => Promise<Response>, port: number): Promise<ViewServer> {
  const server = createAdaptorServer({ fetch });
  const listen = async (at: number): Promise<void> => {
    server.listen(at, HOST);
    await once(server, 'listening');
  };
  let instead: string | undefined;
  try {
    await listen(port);
  } catch (error) {
    const { code = 'unknown' } = error as NodeJS.ErrnoException;
    instead = code === 'EADDRINUSE' ? `port ${port} is in use` : `port ${port} cannot be had (${code})`;
    await listen(0);
  }
  return {
    url: `http://${HOST}:${(server.address() as AddressInfo).port}/`,
    ...(instead !== undefined && { instead }),
    close: async () => {
      const closed = once(server, 'close');
      server.close();
      // Those who follow the steps stay connected for ever.
      if ('closeAllConnections' in server) server.closeAllConnections();
      await closed;
    },
  };
}
