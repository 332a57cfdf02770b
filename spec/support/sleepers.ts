import { execFileSync } from 'node:child_process';

let count = 0;

/** A number of seconds that nobody else sleeps: a process that sleeps so long is found by it in what `ps` shows. */
export function uniqueSleep(): string {
  count++;
  return `${1_000_000 + process.pid}${String(count).padStart(4, '0')}`;
}

/** The pids of the processes that sleep so long, as `ps` shows them: whoever counts must not ask the one who is tested. */
export function sleepers(seconds: string): readonly number[] {
  return processes()
    .filter(({ args }) => args === `sleep ${seconds}`)
    .map(({ pid }) => pid);
}

/** All live processes, as `ps` shows them. */
export function processes(): readonly { readonly pid: number; readonly args: string }[] {
  return execFileSync('ps', ['-A', '-o', 'pid=,stat=,args='], { encoding: 'utf8', maxBuffer: 2 ** 28 })
    .split('\n')
    .flatMap((line) => {
      const [, pid, state, args] = /^\s*(\d+)\s+(\S+)\s+(.*)$/.exec(line) ?? [];
      return state === undefined || state.startsWith('Z') ? [] : [{ pid: Number(pid), args: args as string }];
    });
}
