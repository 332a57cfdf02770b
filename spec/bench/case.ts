import type { Ability, Contender } from './contender.js';

/** What was measured, by the key of its column. */
export type Figures = Readonly<Record<string, number>>;

export interface Column {
  readonly key: string;
  readonly label: string;
  readonly digits: number;
}

/** One piece of work that is the same for all contenders. */
export interface Case {
  readonly title: string;
  readonly needs: Ability;
  /** The first one is what the contenders are compared by. */
  readonly columns: readonly Column[];
  /** To whom the contenders are compared; nobody: the figures stand for themselves. */
  readonly baseline?: string;
  /** Those that are layers over another take part too, and are compared to it. */
  readonly layers?: boolean;
  /** Further options of `node`. */
  readonly flags?: readonly string[];
  /** For how many seconds a contender is waited for. */
  readonly limit?: number;
  /** Takes one measurement in a process of its own; `scale` below 1 is for a quick look. */
  readonly measure: (contender: () => Promise<Contender>, scale: number) => Promise<Figures>;
}
