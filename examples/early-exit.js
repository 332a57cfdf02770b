/**
 * For `--import`, before the compiler: while that is at work a signal ends the program in good order, for nothing has begun.
 * Whoever listens to signals later removes this listener, as signals.ts of the supervisor does.
 */
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'];

function exitEarly() {
  process.exit(0);
}

for (const signal of SIGNALS) process.on(signal, exitEarly);
