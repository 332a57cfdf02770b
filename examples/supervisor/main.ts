import { after, consoleLogger, Controller, exponential, observability, resync } from 'kreconciler';
import { view } from 'kreconciler/view';
import { realpathSync } from 'node:fs';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { asyncScheduler, catchError, EMPTY, filter, from, map, mergeAll, mergeMap, share, Subject, Subscription, throttleTime } from 'rxjs';
import { type Arguments, parseArguments, USAGE } from './arguments.js';
import { Folder } from './folder.js';
import { lock } from './lock.js';
import { Logs } from './logs.js';
import { OsProcesses } from './os-processes.js';
import { json, lines } from './output.js';
import { lineLogger, messageOf } from './print.js';
import { type Status, supervise } from './reconciler.js';
import { Screen } from './screen.js';
import { signals$ } from './signals.js';
import { openState, shortHash, stateOf } from './state.js';
import { serveView } from './view-server.js';
import { firstProcess, leavesZombies } from './zombies.js';

const SERVICES = fileURLToPath(new URL('services', import.meta.url));

/** In ms. A parent such as npm passes Ctrl-C on to us, who have it from the terminal already: this makes one of the two. */
const KEYSTROKE = 500;

process.exitCode = await main(process.argv.slice(2));

async function main(argv: readonly string[]): Promise<number> {
  let args: Arguments;
  try {
    args = parseArguments(argv, SERVICES);
  } catch (error) {
    return complain(error, 2);
  }
  if (args.help) {
    process.stdout.write(USAGE);
    return 0;
  }
  try {
    await supervisor(args);
    return 0;
  } catch (error) {
    return complain(error, 1);
  }
}

async function supervisor(args: Arguments): Promise<void> {
  if (process.platform === 'win32')
    throw new Error('The supervisor needs process groups and signals, which Windows has not; run it in WSL');
  const dir = resolve(args.dir);
  const state = openState(args.state ?? stateOf(dir));
  for (const locked of new Set([stateOf(dir), stateOf(realpathSync(dir)), state].map(openState))) {
    const holder = lock(locked);
    if (holder !== undefined) throw new Error(`Another supervisor (pid ${holder}) looks after ${dir} or keeps its state in ${state}`);
  }

  // What is wanted, what is, and what is seen of it.
  const folder = new Folder(dir);
  const processes = new OsProcesses({ state, name: shortHash(state), grace: args.grace * 1000 });
  const list = async () => [...new Set([...(await folder.ids()), ...processes.ids()])];
  const logs = new Logs(state);
  const deaths$ = processes.deaths.pipe(share());
  const statuses$ = new Subject<Status>();
  const screen = new Screen(process.stdout, `Edit the files in ${dir}; Ctrl-C stops all`);
  const observe = (level: 'warn' | 'error') =>
    observability({ logger: args.json ? consoleLogger(level) : lineLogger(level, (line) => screen.print(line)) });

  // The loop that makes the one the other.
  const controller = new Controller(
    {
      leaderElectionEnabled: false,
      workerCount: args.workers,
      // A command that crashes is tried for ever, though ever more rarely.
      maxItemRetries: Infinity,
      backoff: exponential({ initial: 500, max: 30_000 }),
      // A run stops processes, which takes the grace and a little, and then waits for those that it starts.
      maxReconcileTime: args.grace * 1000 + 20_000,
      shutdownGrace: args.grace * 1000 + 20_000,
      // Its warnings are steps, which are printed anyway.
      observability: observe('error'),
    },
    supervise({ services: folder, processes, tell: (status) => statuses$.next(status) }),
    {
      files: folder.changes,
      exits: deaths$.pipe(
        filter(({ early }) => !early),
        map(({ process }) => process.id),
      ),
      // While it cannot be listed, the resync says so.
      releases: folder.moves.pipe(
        mergeMap(() =>
          from(list()).pipe(
            mergeAll(),
            catchError(() => EMPTY),
          ),
        ),
      ),
      resync: resync({
        every: args.resync * 1000,
        list,
        observability: observe('warn'),
        // It says nothing new: below 0 it makes nobody's backoff shorter.
      }).pipe(map((id) => ({ id, priority: -1 }))),
    },
  );

  const watching = new Subscription();
  const { steps } = controller;
  watching.add((args.json ? json({ steps, logs }) : lines({ steps, statuses: statuses$, deaths: deaths$, logs, screen })).subscribe());
  if (leavesZombies(process.pid, firstProcess()))
    process.stderr.write('Nobody waits for orphans here, so they stay as zombies: start the container with --init\n');
  if (!args.json) screen.print(`Supervisor ${process.pid} looks after ${dir} and keeps its state in ${state}`);

  // Ctrl-C and its like, the time, and a reader of our output who has gone, stop it; a second Ctrl-C does not wait.
  const stop = new AbortController();
  watching.add(
    signals$.pipe(throttleTime(KEYSTROKE)).subscribe(() => {
      if (stop.signal.aborted) {
        processes.killAll();
        process.exit(130);
      }
      stop.abort();
    }),
  );
  watching.add(after((args.for ?? Infinity) * 1000, asyncScheduler).subscribe(() => stop.abort()));
  process.stdout.on('error', () => stop.abort());

  // On loopback only, so whoever can open the page may as well edit the files: everything is allowed.
  const page = args.view ? await serveView(view({ supervisor: controller }, { allow: () => true }), args.port) : undefined;
  if (page !== undefined) {
    const line = `${page.instead === undefined ? '' : `${page.instead}; `}see what happens, and why, at ${page.url}`;
    if (args.json) process.stderr.write(`${line}\n`);
    else screen.print(line);
  }

  try {
    await controller.run(stop.signal);
  } finally {
    await processes.stopAll();
    await page?.close();
    watching.unsubscribe();
    if (!args.json) {
      screen.show(logs.read());
      screen.print('All processes have ended');
      screen.close();
    }
  }
}

function complain(error: unknown, exitCode: number): number {
  process.stderr.write(`${messageOf(error)}\n`);
  return exitCode;
}
