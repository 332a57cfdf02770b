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

/** The steps of a loop as server-sent events: encoded once for all who read, sampled, and listened to no more than a sample needs (V3). */
export class StepFeed {
  readonly #readers = new Set<Reader>();
  #feeding = new Subscription();
  #listening = new Subscription();
  #steps: Step[] = [];
  /** How many there had been when the sample was begun. */
  #before = 0;

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
    this.#feeding = new Subscription();
    this.#beat();
    this.#listen();
  }

  #leave(reader: Reader): void {
    if (!this.#readers.delete(reader) || this.#readers.size > 0) return;
    this.#feeding.unsubscribe();
    this.#listening.unsubscribe();
    this.#steps = [];
  }

  #beat(): void {
    this.#later(HEARTBEAT, () => {
      this.#sendAll(': still here\n\n', 0);
      // Else it would no longer be counted what samples leave out.
      this.controller.rates();
      this.#beat();
    });
  }

  /** Takes a sample. When it has enough it does not listen until it is sent: to listen costs a busy loop more than to count. */
  #listen(): void {
    this.#before = this.controller.rates().steps;
    const end = (): void => {
      this.#end();
    };
    const listening = new Subscription();
    this.#listening = listening;
    listening.add(
      this.controller.steps.subscribe({
        next: (step) => {
          const count = this.#steps.push(step);
          if (count === 1) {
            this.#later(EVERY, () => {
              this.#flush();
            });
          }
          if (count === SAMPLE) listening.unsubscribe();
        },
        error: end,
        complete: end,
      }),
    );
  }

  #flush(): void {
    const steps = this.#steps;
    this.#steps = [];
    const isSample = this.#listening.closed;
    const left = isSample ? Math.max(this.controller.rates().steps - this.#before - steps.length, 0) : 0;
    for (const reader of this.#readers) reader.missed += left;
    this.#sendAll(steps.map((step) => `data: ${JSON.stringify(stepMessage(step))}\n\n`).join(''), steps.length);
    if (isSample) this.#listen();
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

  #later(delay: number, work: () => void): void {
    this.#feeding.add(asyncScheduler.schedule(work, delay));
  }
}
