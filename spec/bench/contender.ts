import type { ReconcileConfig, Reconciler } from 'kreconciler/operators';

/** What a case wants done for an id. Only those that retry tell the attempt. */
export type Work = (id: string, context?: { readonly attempt: number }) => ReturnType<Reconciler>;

export type Ability =
  /** Awaits a promise. All do. */
  | 'promise'
  /** Takes work that is done when it returns. */
  | 'sync'
  | 'observable'
  /** Knows priorities or keys, or is what those that do are compared with. */
  | 'ordered'
  /** Runs an id again after it has failed. */
  | 'retry';

/** One of those that are compared, written as a reader would write it. */
export interface Contender {
  /** What it does for an id beyond running it, and what it does not. */
  readonly does: string;
  readonly can: readonly Ability[];
  /** It is this one, with something around it that has a price. */
  readonly layerOver?: string;
  /** Runs `work` for each id that is pushed, `config.workerCount` (default 1) at a time. */
  open(work: Work, config: ReconcileConfig): Queue | Promise<Queue>;
}

export interface Queue {
  readonly push: (id: string) => void;
  /** Lets go of whatever would keep the process alive. */
  readonly close?: () => unknown;
}
