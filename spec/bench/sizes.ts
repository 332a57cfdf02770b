import { execFileSync } from 'node:child_process';

export interface Size {
  readonly name: string;
  /** In bytes. */
  readonly size: number;
  readonly passed: boolean;
}

/** The entries minified and gzipped without peers, by size-limit, which `npm run size` uses too. */
export function sizes(): readonly Size[] {
  try {
    return JSON.parse(execFileSync('npx', ['size-limit', '--json'], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })) as Size[];
  } catch (error) {
    // It exits with 1 if a limit is passed, and says so all the same.
    return JSON.parse((error as { stdout: string }).stdout) as Size[];
  }
}
