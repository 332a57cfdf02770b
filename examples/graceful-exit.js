/**
 * For `--import`, before the compiler: an example that runs until a signal ends it does so in good order, whenever that comes and whoever sends it.
 */
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'];
/** In ms: nobody waits for it, and to ask costs next to nothing. */
const EVERY = 200;

/**
 * While the compiler is at work nothing has begun, and there is nothing to clean up; later others listen.
 *
 * @param {NodeJS.Signals} signal
 */
function exitEarly(signal) {
  if (process.listenerCount(signal) === 1) process.exit(0);
}

for (const signal of SIGNALS) process.on(signal, exitEarly);

// npm passes a signal on to its shell only, and both end by it: a process that has lost its parent gets the signal here. On Windows a process keeps the
// number of its parent.
if (process.env['npm_lifecycle_event'] !== undefined && process.platform !== 'win32') {
  const parent = process.ppid;
  const watch = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(watch);
    process.kill(process.pid, 'SIGTERM');
  }, EVERY);
  watch.unref();
}
