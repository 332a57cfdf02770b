import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { stateOf } from '../../examples/supervisor/state.js';
import { until } from './until.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** The program as a user starts it. */
const MAIN = ['--import', 'tsx', join(ROOT, 'examples', 'supervisor', 'main.ts')];

/** A step as `--json` prints it. */
export interface PrintedStep {
  readonly kind: string;
  readonly id: string;
  readonly at: number;
  readonly trigger?: { readonly stream: string };
  readonly delay?: number;
  readonly error?: { readonly name: string; readonly message: string };
}

/** The example in a process of its own. */
export class Supervisor {
  readonly process: ChildProcess;
  readonly exited: Promise<{ readonly code: number | null; readonly signal: NodeJS.Signals | null }>;
  stdout = '';
  stderr = '';

  constructor(args: readonly string[]) {
    this.process = spawn(process.execPath, args, { cwd: ROOT, stdio: ['ignore', 'pipe', 'pipe'] });
    this.process.stdout?.setEncoding('utf8').on('data', (text: string) => (this.stdout += text));
    this.process.stderr?.setEncoding('utf8').on('data', (text: string) => (this.stderr += text));
    this.exited = new Promise((resolve) => {
      this.process.once('close', (code, signal) => {
        resolve({ code, signal });
      });
    });
  }

  get steps(): readonly PrintedStep[] {
    return this.stdout
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as PrintedStep);
  }

  /** Waits for a step of `id`, of those after the first `skip` steps. */
  async step(id: string, kind: string, skip = 0): Promise<PrintedStep> {
    return until(`${id} has ${kind}; stderr: ${this.stderr}`, () =>
      this.steps.slice(skip).find((step) => step.id === id && step.kind === kind),
    );
  }

  async kill(signal: NodeJS.Signals): Promise<{ readonly code: number | null; readonly signal: NodeJS.Signals | null }> {
    this.process.kill(signal);
    return this.exited;
  }
}

/** A folder of services and one of state, both temporary, and the supervisors that look after them. */
export class Place {
  readonly #root = realpathSync(mkdtempSync(join(tmpdir(), 'supervisor-')));
  readonly dir = join(this.#root, 'services');
  readonly state = join(this.#root, 'state');
  readonly #supervisors: Supervisor[] = [];

  constructor(readonly program: readonly string[] = MAIN) {
    mkdirSync(this.dir);
  }

  supervise(...args: readonly string[]): Supervisor {
    const supervisor = new Supervisor([...this.program, '--dir', this.dir, '--state', this.state, '--json', ...args]);
    this.#supervisors.push(supervisor);
    return supervisor;
  }

  /** As a careful editor does it: at no time is there half a file. */
  write(id: string, service: object | string): void {
    const path = join(this.#root, `${id}.json`);
    writeFileSync(path, typeof service === 'string' ? service : JSON.stringify(service));
    renameSync(path, join(this.dir, `${id}.json`));
  }

  /** Another folder of services, and a link to the first one that can be flipped to it. */
  release(): {
    readonly dir: string;
    readonly link: string;
    readonly write: (id: string, service: object) => void;
    readonly flip: () => void;
  } {
    const [dir, link] = [join(this.#root, 'release'), join(this.#root, 'current')];
    mkdirSync(dir);
    symlinkSync(this.dir, link);
    return {
      dir,
      link,
      write: (id, service) => {
        writeFileSync(join(dir, `${id}.json`), JSON.stringify(service));
      },
      flip: () => {
        symlinkSync(dir, `${link}.next`);
        renameSync(`${link}.next`, link);
      },
    };
  }

  delete(id: string): void {
    rmSync(join(this.dir, `${id}.json`), { force: true });
  }

  /** Ends all that may be left, also after a failure: a new supervisor finds what others have left behind. */
  async [Symbol.asyncDispose](): Promise<void> {
    const last = this.#supervisors.find(({ process: { exitCode, signalCode } }) => exitCode === null && signalCode === null);
    const end = await last?.kill('SIGTERM');
    // The signal may have come before it listened to signals; and a new one is sent none for that reason.
    if (end?.code !== 0) this.supervise('--for', '0.001');
    await Promise.all(this.#supervisors.map(({ exited }) => exited));
    const dirs = [this.dir, join(this.#root, 'release'), join(this.#root, 'current')];
    for (const folder of [...dirs.map(stateOf), this.#root]) rmSync(folder, { recursive: true, force: true });
  }
}
