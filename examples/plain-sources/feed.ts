import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

/**
 * A server whose answer goes on and on, an id a line, as those of many watch APIs do; and like those it breaks off: the first
 * two answers after two lines.
 */
export async function feed(): Promise<{ readonly url: string; readonly server: Server }> {
  let requests = 0;
  const server = createServer(({ method }, response) => {
    if (method === 'HEAD') {
      response.end();
      return;
    }
    requests++;
    const breaksOff = requests <= 2;
    const send = async (): Promise<void> => {
      for (const line of [1, 2, 3]) {
        await delay(50);
        if (breaksOff && line === 3) response.destroy();
        else response.write(`fed-${requests}.${line}\n`);
      }
      response.end();
    };
    void send();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, server };
}

/** The lines of a body, as they come. */
export async function* linesOf(body: ReadableStream<Uint8Array> | null): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const bytes of body ?? []) {
    const lines = `${rest}${decoder.decode(bytes, { stream: true })}`.split('\n');
    rest = lines.pop() as string;
    yield* lines;
  }
  if (rest !== '') yield rest;
}
