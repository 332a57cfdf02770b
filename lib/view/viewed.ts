import type { Controller } from '../controller.js';

/** What the view needs of a Controller. It may be one of another copy of this package, so it is known by what it has. */
export type Viewed = Pick<
  Controller,
  'config' | 'steps' | 'rates' | 'inspect' | 'inspectId' | 'inspectIds' | 'reconcile' | 'pause' | 'resume' | 'discard'
>;

export function isViewed(value: unknown): value is Viewed {
  try {
    const { inspectIds, inspectId, config } = Object(value) as Partial<Record<keyof Viewed, unknown>>;
    return typeof inspectIds === 'function' && typeof inspectId === 'function' && typeof config === 'object';
  } catch {
    // What only inherits from one has none of its fields.
    return false;
  }
}
