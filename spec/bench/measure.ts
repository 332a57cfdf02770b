import { cases } from './cases/index.js';
import { contenders } from './contenders/index.js';

/**
 * The child process: one contender in one case, once. The figures go to the parent if there is one, so that this may be run
 * by hand to look closer: `node --cpu-prof .reports/bench/measure.js steady-1 kreconciler`.
 */
const [, , caseName = '', contenderName = '', scale = '1'] = process.argv;
const { measure } = await cases[caseName]!();
const figures = await measure(contenders[contenderName]!, Number(scale));
// At once: behind a run that was halted there may be others.
if (process.send) process.send(figures, () => process.exit());
else {
  console.log(figures);
  process.exit();
}
