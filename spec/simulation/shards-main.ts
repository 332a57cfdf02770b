// The nightly search for shards, as main.ts is for the engine.
//
//   npm run simulate:shards            100,000 lives, from seed 1 on
//   npm run simulate:shards 5000 777   5,000 lives, from seed 777 on
import { live } from './shards.js';

const [runs = 100_000, seed = 1] = process.argv.slice(2).map(Number);
// None would keep every law.
if (!Number.isSafeInteger(runs) || runs < 1 || !Number.isSafeInteger(seed)) {
  throw new TypeError(`Expected how many lives and from which seed on, two integers, got ${process.argv.slice(2).join(' ')}`);
}
const began = performance.now();
let bad = 0;
for (let life = seed; life < seed + runs; life++) {
  const broken = await live(life);
  if (broken.length > 0) console.log(`seed ${life}: ${broken.join('; ')}`);
  if (broken.length > 0 && ++bad === 10) break;
}
const seconds = (performance.now() - began) / 1000;
if (bad > 0) process.exitCode = 1;
else console.log(`${runs} lives of replicas kept H1 to H10, in ${seconds.toFixed(1)} s (${Math.round(runs / seconds)} a second)`);
