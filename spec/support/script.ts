import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { bundled } from './bundled.js';

const execute = promisify(execFile);

/** Runs the script in a process of its own, until that has exited by itself; rejects if it fails, or is not gone in time. */
export type Script = (args: readonly string[], flags?: readonly string[]) => Promise<{ stdout: string; stderr: string }>;

/** A script of `spec/support/process`. */
export function script(name: string): Script {
  const path = bundled(`spec/support/process/${name}.ts`);
  return (args, flags = []) => execute(process.execPath, [...flags, path, ...args], { timeout: 60_000 });
}
