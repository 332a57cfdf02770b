// The nightly search: more runs than CI has time for, from seeds that CI has not seen.
//
//   npm run simulate            100,000 scenarios, from seed 1 on
//   npm run simulate 5000 777   5,000 scenarios, from seed 777 on
import { simulate } from 'kreconciler/testing';
import { scenario } from './engine.js';

const [runs = 100_000, seed = 1] = process.argv.slice(2).map(Number);
const began = performance.now();
const report = await simulate(scenario, { runs, seed });
const seconds = (performance.now() - began) / 1000;
console.log(
  `${report.runs} scenarios with ${report.changes} events and ${report.faults} faults kept every law, in ${seconds.toFixed(1)} s (${Math.round(report.runs / seconds)} a second)`,
);
