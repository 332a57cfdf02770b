import { type Server, startServer } from '../support/server.js';

/** The server that `REDIS_URL` names, or else one of our own, by the `redis-server` on the PATH. */
export async function redis(): Promise<{ readonly url: string; readonly server?: Server; readonly stop: () => Promise<void> }> {
  const url = process.env['REDIS_URL'];
  if (url !== undefined) return { url, stop: () => Promise.resolve() };
  const server = await startServer(
    'redis',
    (port, directory) => ({
      command: 'redis-server',
      args: [
        '--port',
        String(port),
        '--bind',
        '127.0.0.1',
        '--dir',
        directory,
        '--save',
        '',
        '--appendonly',
        'yes',
        '--appendfsync',
        'always',
      ],
    }),
    'install it (`apt-get install redis-server`), or name one by REDIS_URL',
  );
  return { url: `redis://127.0.0.1:${String(server.port)}`, server, stop: () => server.stop() };
}
