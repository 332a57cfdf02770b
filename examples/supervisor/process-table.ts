import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';

/** What the operating system knows of its processes. One that is dead but not yet reaped, a zombie, counts as gone. */
export interface ProcessTable {
  /** When `pid` was started, as a token that no later process with this pid has; `undefined` if there is none. */
  startOf(pid: number): string | undefined;
  /** The processes that have `variable` in their environment. */
  carriers(variable: string): readonly Carrier[];
  /** What `pid` has started, and what that has started, as long as each one's parent lives. */
  descendants(pid: number): readonly Listed[];
}

export interface Listed {
  readonly pid: number;
  /** The process group; its leader has it as its pid. */
  readonly group: number;
  readonly started: string;
}

export interface Carrier extends Listed {
  /** The value of the variable. */
  readonly value: string;
}

/** Linux: reads `/proc`. */
export const procTable: ProcessTable = {
  startOf: (pid) => statOf(pid)?.started,
  carriers: (variable) =>
    readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .flatMap((name) => {
        const value = read(`/proc/${name}/environ`)
          ?.split('\0')
          .find((entry) => entry.startsWith(`${variable}=`));
        const stat = value === undefined ? undefined : statOf(Number(name));
        return stat === undefined ? [] : [{ ...stat, value: (value as string).slice(variable.length + 1) }];
      }),
  descendants: (pid) =>
    below(
      pid,
      readdirSync('/proc')
        .filter((name) => /^\d+$/.test(name))
        .flatMap((name) => statOf(Number(name)) ?? []),
    ),
};

/** Elsewhere: asks `ps`, which is slower, and knows a start to the second. */
export const psTable: ProcessTable = {
  startOf: (pid) => ps('-o', STATE_AND_START, '-p', String(pid)).map(parseStart)[0],
  carriers: (variable) =>
    ps(...(process.platform === 'darwin' ? ['-AEww'] : ['axeww']), '-o', `pid=,pgid=,${STATE_AND_START},args=`).flatMap((line) => {
      const [, pid, group, rest] = /^\s*(\d+)\s+(\d+)\s+(.*)$/.exec(line) ?? [];
      const value = new RegExp(` ${variable}=(\\S+)`).exec(line)?.[1];
      const started = rest === undefined || value === undefined ? undefined : parseStart(rest);
      return started === undefined ? [] : [{ pid: Number(pid), group: Number(group), started, value: value as string }];
    }),
  descendants: (pid) =>
    below(
      pid,
      ps('-A', '-o', `pid=,ppid=,pgid=,${STATE_AND_START}`).flatMap((line) => {
        const [, pid, parent, group, rest = ''] = /^\s*(\d+)\s+(\d+)\s+(\d+)\s+(.*)$/.exec(line) ?? [];
        const started = parseStart(rest);
        return started === undefined ? [] : [{ pid: Number(pid), parent: Number(parent), group: Number(group), started }];
      }),
    ),
};

export const processTable = existsSync('/proc/self/stat') ? procTable : psTable;

const STATE_AND_START = 'stat=,lstart=';

interface Child extends Listed {
  readonly parent: number;
}

function below(pid: number, all: readonly Child[]): readonly Child[] {
  const childrenOf = (pid: number) => all.filter(({ parent }) => parent === pid);
  const found = childrenOf(pid);
  // It grows while it is walked over.
  for (const child of found) found.push(...childrenOf(child.pid));
  return found;
}

function statOf(pid: number): Child | undefined {
  const stat = read(`/proc/${pid}/stat`);
  if (stat === undefined) return undefined;
  // The second field is the name in brackets, which may itself contain blanks and brackets.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const [state, parent, group, started] = [fields[0] as string, fields[1], fields[2], fields[19] as string];
  // Ticks since the boot, so which boot it was belongs to it.
  return 'ZX'.includes(state) ? undefined : { pid, parent: Number(parent), group: Number(group), started: `${boot()}-${started}` };
}

let bootId: string | undefined;

function boot(): string {
  return (bootId ??= read('/proc/sys/kernel/random/boot_id')?.slice(0, 8) ?? '');
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    // It is gone, or not ours.
    return undefined;
  }
}

function ps(...args: string[]): readonly string[] {
  try {
    // The same words and hours in every language, and on both sides of a change to summer time.
    const env = { ...process.env, LC_ALL: 'C', TZ: 'UTC' };
    const text = execFileSync('ps', args, { encoding: 'utf8', env, maxBuffer: 2 ** 28, stdio: ['ignore', 'pipe', 'ignore'] });
    return text.split('\n').filter((line) => line.trim() !== '');
  } catch (error) {
    // Exit code 1: there is none.
    if ((error as { status?: unknown }).status === 1) return [];
    throw error;
  }
}

/** `Ss Sun Nov 29 15:31:43 2026` and whatever follows. */
function parseStart(line: string): string | undefined {
  const [, state, started] = /^\s*(\S+)\s+(\S+\s+\S+\s+\d+\s+[\d:]+\s+\d+)/.exec(line) ?? [];
  return state === undefined || /^[ZX]/.test(state) ? undefined : started;
}
