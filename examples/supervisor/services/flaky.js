// Crashes now and then, and now and then at once.
const life = Math.random() < 0.3 ? 200 : 2000 + Math.random() * 8000;

console.log(`will live for ${(life / 1000).toFixed(1)} s`);
setTimeout(() => {
  console.log('crashing');
  process.exit(3);
}, life);
