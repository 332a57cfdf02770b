import { asyncScheduler, Subscription } from 'rxjs';
import type { Step } from '../../operators/types.js';
import { RefusedError } from './answers.js';
import type { Missed } from './api.js';
import { stepMessage } from './step-message.js';
import type { Viewed } from './viewed.js';

/** How often what has come is sent, in ms, and how many steps at most each time: a person can follow no more. */
const [EVERY, SAMPLE] = [100, 25];

/** How often, in ms, a quiet stream is kept alive. */
const HEARTBEAT = 15_000;

/** How many bytes wait for a slow reader; beyond that steps are left out. */
const BUFFER = 32_768;

/** How many may read at once. */
const READERS = 2_000;

const encoder = new TextEncoder();

/** One who reads the stream of steps; or does not. */
interface Reader {
  readonly controller: ReadableStreamDefaultController<Uint8Array>;
  missed: number;
}

/** The steps of a loop as server-sent events: encoded once for all who read, sampled, and listened to only while somebody does (V3). */
export class StepFeed {
  readonly #readers = new Set<Reader>();
  #listening = new Subscription();
  #steps: Step[] = [];
  #left = 0;

  constructor(readonly controller: Viewed) {}

  /** @throws RefusedError if too many read already */
  read(signal: AbortSignal): ReadableStream<Uint8Array> {
    if (this.#readers.size >= READERS) throw new RefusedError(503, 'Too many read the steps');
    let reader: Reader | undefined;
    const leave = (): void => {
      if (reader !== undefined) this.#leave(reader);
      signal.removeEventListener('abort', leave);
    };
    return new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          reader = { controller, missed: 0 };
          this.#send(reader, encoder.encode(': steps\n\n'), 0);
          this.#join(reader);
          if (signal.aborted) leave();
          else signal.addEventListener('abort', leave);
        },
        cancel: leave,
      },
      new ByteLengthQueuingStrategy({ highWaterMark: BUFFER }),
    );
  }

  #join(reader: Reader): void {
    this.#readers.add(reader);
    if (this.#readers.size > 1) return;
    this.#listening = new Subscription();
    this.#beat();
    this.#listening.add(
      this.controller.steps.subscribe({
        next: (step) => {
          this.#take(step);
        },
        error: () => {
          this.#end();
        },
        complete: () => {
          this.#end();
        },
      }),
    );
  }

  #leave(reader: Reader): void {
    if (!this.#readers.delete(reader) || this.#readers.size > 0) return;
    this.#listening.unsubscribe();
    this.#steps = [];
    this.#left = 0;
  }

  #beat(): void {
    this.#listening.add(
      asyncScheduler.schedule(() => {
        this.#sendAll(': still here\n\n', 0);
        this.#beat();
      }, HEARTBEAT),
    );
  }

  #take(step: Step): void {
    if (this.#steps.length === SAMPLE) {
      this.#left++;
      return;
    }
    if (this.#steps.push(step) > 1) return;
    this.#listening.add(
      asyncScheduler.schedule(() => {
        this.#flush();
      }, EVERY),
    );
  }

  #flush(): void {
    const steps = this.#steps;
    for (const reader of this.#readers) reader.missed += this.#left;
    this.#steps = [];
    this.#left = 0;
    this.#sendAll(steps.map((step) => `data: ${JSON.stringify(stepMessage(step))}\n\n`).join(''), steps.length);
  }

  #sendAll(text: string, steps: number): void {
    const bytes = encoder.encode(text);
    for (const reader of this.#readers) this.#send(reader, bytes, steps);
  }

  /** Leaves out what `reader` has no room for, and tells it when it has. */
  #send(reader: Reader, bytes: Uint8Array, steps: number): void {
    if ((reader.controller.desiredSize ?? 0) <= 0) {
      reader.missed += steps;
      return;
    }
    reader.controller.enqueue(bytes);
    if (reader.missed === 0) return;
    const missed: Missed = { count: reader.missed };
    reader.missed = 0;
    reader.controller.enqueue(encoder.encode(`event: missed\ndata: ${JSON.stringify(missed)}\n\n`));
  }

  /** The loop has. Whoever has no room for it is told all the same: nothing comes after it. */
  #end(): void {
    this.#flush();
    for (const reader of [...this.#readers]) {
      reader.controller.enqueue(encoder.encode('event: end\ndata: {}\n\n'));
      reader.controller.close();
      this.#leave(reader);
    }
  }
}
