import { describe, expect, it } from 'vitest';
import { serveView } from '../../../examples/supervisor/view-server.js';

const hello = () => Promise.resolve(new Response('hello'));

describe('serveView', () => {
  it('should serve on loopback, and close at once though somebody listens for ever', async () => {
    const endless = () => Promise.resolve(new Response(new ReadableStream({ start: (stream) => stream.enqueue(new Uint8Array([1])) })));
    const server = await serveView(endless, 0);
    expect(server.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/$/);
    expect(server.instead).toBeUndefined();
    const { body } = await fetch(server.url);
    const reader = body!.getReader();
    await reader.read();
    await server.close();
    await expect(reader.read()).rejects.toThrow();
    await expect(fetch(server.url)).rejects.toThrow();
  });

  it('should take a free port where the wanted one is in use, and say so', async () => {
    const first = await serveView(hello, 0);
    const port = Number(new URL(first.url).port);
    const second = await serveView(hello, port);
    expect(second.instead).toBe(`port ${port} is in use`);
    expect(second.url).not.toBe(first.url);
    expect(await (await fetch(second.url)).text()).toBe('hello');
    await Promise.all([first.close(), second.close()]);
  });
});
