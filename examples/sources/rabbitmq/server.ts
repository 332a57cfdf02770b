import { execFileSync } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort, type Server, startServer } from '../support/server.js';

/** The server that `AMQP_URL` names, or else one of our own, of Debian's package `rabbitmq-server`. */
export async function rabbitmq(): Promise<{ readonly url: string; readonly server?: Server; readonly stop: () => Promise<void> }> {
  const url = process.env['AMQP_URL'];
  if (url !== undefined) return { url, stop: () => Promise.resolve() };
  const [distribution, epmd] = [await freePort(), await freePort()];
  const server = await startServer(
    'rabbitmq',
    (port, directory) => ({
      // Not the one on the PATH, which works in the folders of the system, as another user.
      command: '/usr/lib/rabbitmq/bin/rabbitmq-server',
      args: [],
      env: {
        HOME: directory,
        RABBITMQ_CONF_ENV_FILE: '/dev/null',
        RABBITMQ_NODENAME: `kreconciler-${String(port)}@localhost`,
        RABBITMQ_NODE_IP_ADDRESS: '127.0.0.1',
        RABBITMQ_NODE_PORT: String(port),
        RABBITMQ_DIST_PORT: String(distribution),
        RABBITMQ_MNESIA_BASE: `${directory}/mnesia`,
        RABBITMQ_LOG_BASE: `${directory}/log`,
        RABBITMQ_PID_FILE: `${directory}/pid`,
        RABBITMQ_ENABLED_PLUGINS_FILE: `${directory}/plugins`,
        RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS: '+sbwt none +sbwtdcpu none +sbwtdio none',
        ERL_EPMD_PORT: String(epmd),
        ERL_EPMD_ADDRESS: '127.0.0.1',
      },
    }),
    'install it (`apt-get install rabbitmq-server`), or name one by AMQP_URL',
  );
  return {
    url: `amqp://127.0.0.1:${String(server.port)}`,
    server,
    stop: async () => {
      await server.stop();
      // Erlang's port mapper is a daemon of its own, outlives the node, and stays while it believes that the node lives.
      await vanished(() => execFileSync('epmd', ['-port', String(epmd), '-kill'], { stdio: 'ignore' }));
    },
  };
}

async function vanished(kill: () => unknown): Promise<void> {
  for (let attempts = 50; attempts > 0; attempts--) {
    try {
      kill();
      return;
    } catch {
      await sleep(100);
    }
  }
}
