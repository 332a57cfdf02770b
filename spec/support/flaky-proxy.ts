import { type AddressInfo, createServer, connect, type Socket } from 'node:net';

/** A TCP proxy before `url` that can play a peer which is there and says nothing any more. */
export interface FlakyProxy {
  readonly url: string;
  /** From now on nothing passes: no byte, no FIN, no answer to a new connection. */
  freeze(): void;
  /** Connections made from now on work again; frozen ones stay as they are. */
  thaw(): void;
  close(): Promise<void>;
}

export async function flakyProxy(url: string): Promise<FlakyProxy> {
  const { hostname, port } = new URL(url);
  const sockets = new Set<Socket>();
  let isFrozen = false;
  const server = createServer((client) => {
    sockets.add(client.on('error', () => client.destroy()));
    if (isFrozen) return;
    const upstream = connect(Number(port), hostname);
    sockets.add(upstream.on('error', () => client.destroy()));
    client.pipe(upstream);
    upstream.pipe(client);
    client.on('close', () => upstream.destroy());
    upstream.on('close', () => client.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const through = new URL(url);
  through.port = String((server.address() as AddressInfo).port);
  return {
    url: through.href,
    freeze: () => {
      isFrozen = true;
      for (const socket of sockets) {
        socket.unpipe();
        socket.removeAllListeners('close');
        socket.pause();
      }
    },
    thaw: () => {
      isFrozen = false;
    },
    close: () => {
      for (const socket of sockets) socket.destroy();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}
