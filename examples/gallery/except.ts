import { type FaultKind, FAULTS } from 'kreconciler/testing';

/** All faults but these. */
export function except(...kinds: readonly FaultKind[]): readonly FaultKind[] {
  return FAULTS.filter((kind) => !kinds.includes(kind));
}
