import { readFileSync } from 'node:fs';
import type { FaultKind, Scenario } from 'kreconciler/testing';

/** A classic bug, and what it takes to see it. */
interface Exhibit {
  readonly name: string;
  /** The one kind of fault without which it goes unseen; none if there are several ways to it, or no fault is needed. */
  readonly needs?: FaultKind;
}

export const gallery: readonly Exhibit[] = [
  { name: 'create-without-checking' },
  { name: 'forgotten-deletes' },
  { name: 'wrong-order' },
  { name: 'edge-triggered' },
  { name: 'no-progress' },
  { name: 'clean-up-before-last-use' },
  { name: 'crash-before-recording', needs: 'crash' },
  { name: 'swallowed-error', needs: 'fail' },
  { name: 'counting-up', needs: 'lost' },
  { name: 'decided-too-early', needs: 'slow' },
  { name: 'marked-busy', needs: 'overtime' },
  { name: 'no-resync', needs: 'drop' },
  { name: 'one-order-an-event', needs: 'duplicate' },
  { name: 'trusts-the-message', needs: 'delay' },
  { name: 'last-message-wins', needs: 'reorder' },
  { name: 'stale-read', needs: 'stale' },
  { name: 'memory-of-another-term', needs: 'leadership' },
  { name: 'alone-in-the-world', needs: 'handover' },
  { name: 'wall-clock', needs: 'clock' },
];

/** The bug, or the same reconciler without it. */
export async function exhibit(name: string, which: 'bug' | 'fixed'): Promise<Scenario<object>> {
  const { scenario } = (await import(`./${name}/${which}.ts`)) as { scenario: Scenario<object> };
  return scenario;
}

/** The lines of code of the bug, or of its fixed version. The first one says what is wrong, or what mends it. */
export function linesOf(name: string, which: 'bug' | 'fixed'): string[] {
  return readFileSync(new URL(`./${name}/${which}.ts`, import.meta.url), 'utf8').split('\n');
}
