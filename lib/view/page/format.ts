import type { StepMessage } from '../api.js';

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** A time as people say it, in two units at most: `340 ms`, `4.2 s`, `2 min 05 s`, `3 h 12 min`, `5 d 4 h`. */
export function duration(ms: number): string {
  const rest = Math.max(0, Math.round(ms));
  if (rest < SECOND) return `${rest} ms`;
  if (rest < 10 * SECOND - 50) return `${(rest / SECOND).toFixed(1)} s`;
  const seconds = Math.round(rest / SECOND) * SECOND;
  if (seconds < MINUTE) return `${seconds / SECOND} s`;
  if (seconds < HOUR) return `${Math.floor(seconds / MINUTE)} min ${two((seconds % MINUTE) / SECOND)} s`;
  const minutes = Math.round(rest / MINUTE) * MINUTE;
  if (minutes < DAY) return `${Math.floor(minutes / HOUR)} h ${two((minutes % HOUR) / MINUTE)} min`;
  const hours = Math.round(rest / HOUR) * HOUR;
  return `${Math.floor(hours / DAY)} d ${(hours % DAY) / HOUR} h`;
}

/** The same in one unit, for where there is little room: `4.2 s`, `2 min`, `3 h`. */
export function brief(ms: number): string {
  return ms < MINUTE - SECOND / 2 ? duration(ms) : duration(ms).split(' ').slice(0, 2).join(' ');
}

/** What the clock on the wall says: `14:02:11`. */
export function clock(at: number): string {
  const time = new Date(at);
  return Number.isNaN(time.getTime()) ? '?' : [time.getHours(), time.getMinutes(), time.getSeconds()].map(two).join(':');
}

/** The day as well, for who hovers or has a machine read it. */
export function moment(at: number): string {
  const time = new Date(at);
  return Number.isNaN(time.getTime()) ? '?' : time.toISOString();
}

/** `100,000` */
export function count(value: number): string {
  return value.toLocaleString('en');
}

/** How many a second: `0.2/s`, `12/s`, `1,200/s`. */
export function rate(perSecond: number): string {
  if (perSecond === 0) return '0/s';
  return `${perSecond < 10 ? perSecond.toFixed(1) : count(Math.round(perSecond))}/s`;
}

/** `Error: no connection`, and the message alone where the name says nothing. */
export function errorText({ name, message }: { readonly name: string; readonly message: string }): string {
  if (name === 'Error' || name === '') return message === '' ? 'Error' : message;
  return message === '' ? name : `${name}: ${message}`;
}

/** What there is to say of a step beside its kind. */
export function details(step: StepMessage): string {
  const said: (string | false | undefined)[] = [];
  switch (step.kind) {
    case 'enqueued':
      said.push(step.reason === 'event' ? by(step) : step.reason && `for its ${step.reason}`);
      break;
    case 'merged':
      said.push(by(step));
      break;
    case 'rejected':
      said.push(words(step.reason), step.stream !== undefined && by(step));
      break;
    case 'started':
      said.push(
        `attempt ${step.attempt ?? 1}`,
        step.streams && step.streams.length > 0 && `for ${step.streams.join(', ')}`,
        `waited ${duration(step.waited ?? 0)}`,
      );
      break;
    case 'succeeded':
      said.push(`in ${duration(step.took ?? 0)}`, step.attempt !== undefined && step.attempt > 1 && `at attempt ${step.attempt}`);
      break;
    case 'requeued':
      said.push(
        step.failure === undefined ? 'as it asked' : `${words(step.failure)} at attempt ${step.attempt ?? 1}`,
        `again in ${duration(step.delay ?? 0)}`,
      );
      break;
    case 'dropped':
      said.push(words(step.reason), step.failure !== undefined && `${words(step.failure)} at attempt ${step.attempt ?? 1}`);
      break;
    case 'abandoned':
      said.push('its promise is still open');
      break;
    case 'released':
      said.push('its promise has settled');
      break;
    case 'paused':
      said.push(step.why);
      break;
    case 'resumed':
      break;
  }
  if (step.error !== undefined) said.push(errorText(step.error));
  return said.filter((text) => typeof text === 'string' && text !== '').join(' · ');
}

function by({ stream }: StepMessage): string {
  return stream === undefined ? 'by an event' : `by ${stream}`;
}

/** `delay_queue_full` as it is read. */
function words(code: string | undefined): string {
  return (code ?? '').replaceAll('_', ' ');
}

function two(value: number): string {
  return String(value).padStart(2, '0');
}
