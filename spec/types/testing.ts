import fc from 'fast-check';
import { type Scenario, simulate } from 'kreconciler/testing';

interface World {
  readonly sizes: Record<string, number>;
}

// The values of a change are what its arbitrary draws.
void simulate({
  world: (): World => ({ sizes: {} }),
  changes: {
    scale: {
      values: fc.nat(9),
      apply: ({ sizes }, id, value) => {
        sizes[id] = value satisfies number;
        // @ts-expect-error -- it is a number
        value satisfies string;
      },
    },
    name: { values: fc.constantFrom('small', 'large'), apply: (_, __, value) => value satisfies 'small' | 'large' },
    drop: ({ sizes }, id, random) => {
      sizes[id] = random();
    },
  },
  streams: {},
  reconciler: () => () => undefined,
  converged: ({ sizes }) => Object.keys(sizes).length > 0,
});

void simulate({
  world: (): World => ({ sizes: {} }),
  // @ts-expect-error -- a number is no string
  changes: { scale: { values: fc.nat(9), apply: (_, __, value: string) => value } },
  streams: {},
  reconciler: () => () => undefined,
  converged: () => true,
});

// Written down, it says what its values are.
export const scenario: Scenario<World, { scale: number }> = {
  world: () => ({ sizes: {} }),
  changes: { scale: { values: fc.nat(9), apply: (_, __, value) => value satisfies number } },
  streams: {},
  reconciler: () => () => undefined,
  converged: () => true,
};
void simulate(scenario);
const loose: Scenario<World> = { ...scenario, changes: { scale: { values: fc.nat(9), apply: (_, __, value: number) => value } } };
void simulate(loose);
