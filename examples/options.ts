import { parseArgs, type ParseArgsConfig } from 'node:util';

type Options = NonNullable<ParseArgsConfig['options']>;

/** The options of an example. `--help` prints `usage` and ends it with code 0; an unknown option says so, and ends it with code 2. */
export function optionsOf<T extends Options>(usage: string, options: T): ReturnType<typeof parseArgs<{ options: T }>>['values'] {
  try {
    const { values } = parseArgs({ options: { ...options, help: { type: 'boolean' } } });
    if (!('help' in values)) return values;
  } catch (error) {
    console.error(`${(error as Error).message}\n\n${usage}`);
    process.exit(2);
  }
  console.log(usage);
  process.exit(0);
}
