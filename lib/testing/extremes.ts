/** The least of `values`, Infinity if there is none. `Math.min(...values)` fails from some 100,000 on. */
export function least(values: Iterable<number>): number {
  let found = Infinity;
  for (const value of values) if (value < found) found = value;
  return found;
}

/** The greatest of `values`, -Infinity if there is none. */
export function greatest(values: Iterable<number>): number {
  let found = -Infinity;
  for (const value of values) if (value > found) found = value;
  return found;
}
