import { simulate, SimulationError } from 'kreconciler/testing';
import { exhibit, gallery, linesOf } from './gallery.js';

/**
 * Classic bugs of reconcilers: finds one by simulation, prints its report, and runs the fixed version.
 *
 *   npm run example:gallery -- stale-read
 */
const [name] = process.argv.slice(2);
const sentence = (of: string, which: 'bug' | 'fixed'): string => (linesOf(of, which)[0] ?? '').replace('// ', '');

if (name === undefined || name === '--help') {
  for (const { name } of gallery) console.log(`${name.padEnd(25)} ${sentence(name, 'bug')}`);
  console.log('\nnpm run example:gallery -- NAME finds one, and runs its fixed version');
} else if (!gallery.some((bug) => bug.name === name)) {
  console.error(`Expected the name of a bug, one of ${gallery.map((bug) => bug.name).join(', ')}, got \`${name}\``);
  process.exitCode = 1;
} else {
  console.log(`The bug: ${sentence(name, 'bug')}\n`);
  try {
    await simulate(await exhibit(name, 'bug'));
  } catch (error) {
    if (!(error instanceof SimulationError)) throw error;
    console.log(error.message);
  }
  console.log(`\nWhat mends it: ${sentence(name, 'fixed')}`);
  const { runs } = await simulate(await exhibit(name, 'fixed'));
  console.log(`The fixed version passed ${runs.toLocaleString('en')} runs`);
}
