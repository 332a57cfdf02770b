import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import pg from 'pg';

/** What `spawn` needs to run a program in TypeScript. */
export function programOf(file: URL, ...args: readonly string[]): readonly [string, string[]] {
  return [process.execPath, ['--import', 'tsx', fileURLToPath(file), ...args]];
}

/** A database that keeper.ts keeps, and a client of it. */
export interface KeptDatabase {
  readonly url: string;
  readonly client: pg.Client;
  readonly end: () => Promise<void>;
}

/** @param lost - the client has lost its connection */
export async function keptDatabase(lost: () => void): Promise<KeptDatabase> {
  const keeper = spawn(...programOf(new URL('keeper.ts', import.meta.url)), { detached: true, stdio: ['pipe', 'pipe', 'inherit'] });
  const [url] = (await once(createInterface({ input: keeper.stdout }), 'line')) as [string];
  const client = new pg.Client(url);
  client.on('error', lost);
  await client.connect();
  return {
    url,
    client,
    end: async () => {
      await client.end();
      keeper.stdin.end();
      await once(keeper, 'close');
    },
  };
}
