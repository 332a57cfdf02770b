export { journal } from './journal.js';
export { type Marbles, marbles } from './marbles.js';
export { type Replay, replay, type ReplayConfig } from './replay.js';
export { type StepRows } from './steps-expectation.js';
export { toMarbles } from './to-marbles.js';
export { VirtualScheduler } from './virtual-scheduler.js';
export { type VirtualClock, virtualTime } from './virtual-time.js';
