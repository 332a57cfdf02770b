import type { FetchLike, FetchResponse } from '../../lib/etcd/fetch-like.js';
import { integer, span } from '../../lib/testing/simulation/random.js';
import type { Random } from 'kreconciler/testing';
import type { VirtualScheduler } from '../../lib/testing/virtual-scheduler.js';
import type { EtcdStandIn } from '../support/etcd-stand-in.js';
import type { SimulatedProcess } from './simulated-process.js';

/** The connection of one process to etcd, and all that may be wrong with it. */
export class SimulatedNetwork {
  /** Nothing passes: requests are lost, or carried out and their answers lost. */
  isHung = false;
  /** The longest that a request or an answer takes, in ms. They overtake each other. */
  latency = 5;
  /** How many of the notifications of a watch are forgotten, from 0 to 1. */
  forgets = 0;

  constructor(
    readonly clock: VirtualScheduler,
    readonly etcd: EtcdStandIn,
    readonly process: SimulatedProcess,
    readonly random: Random,
  ) {}

  readonly fetch: FetchLike = async (url, init) => {
    const isWatch = url.endsWith('/watch');
    // What is lost is lost on its way there, or on its way back.
    const isCarriedOut = !this.isHung || this.random() < 0.5;
    const answer = new Promise<FetchResponse>((resolve, reject) => {
      this.#later(() => {
        if (!isCarriedOut || !this.process.isAlive) return;
        this.etcd.fetch(url, init).then(
          (response) => {
            this.#later(() => {
              if (this.isHung) return;
              this.process.do(() => {
                resolve(response);
              });
            });
          },
          (error: unknown) => {
            reject(error);
          },
        );
      });
    });
    const response = await answer;
    return isWatch ? this.#watched(response) : response;
  };

  #later(work: () => void): void {
    this.clock.after(integer(this.random, 0, this.latency), work);
  }

  #watched(response: FetchResponse): FetchResponse {
    const reader = response.body?.getReader();
    if (reader === undefined) return response;
    let isFirst = true;
    const read = async (): ReturnType<typeof reader.read> => {
      for (;;) {
        const chunk = await reader.read();
        const isForgotten = !isFirst && (this.isHung || this.random() < this.forgets);
        isFirst = false;
        if (isForgotten) continue;
        await new Promise<void>((resolve) => {
          this.clock.after(span(this.random, 4 * this.latency), () => {
            this.process.do(resolve);
          });
        });
        return chunk;
      }
    };
    return { ...response, body: { getReader: () => ({ read }) } };
  }
}
