import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const gc = runInNewContext('gc') as () => void;

/** The heap in use once the garbage is collected, in bytes. */
export function heap(): number {
  gc();
  gc();
  return process.memoryUsage().heapUsed;
}
