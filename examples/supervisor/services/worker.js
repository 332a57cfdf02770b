// One of several that share their work: each takes the jobs that leave its own number as the remainder.
const replica = Number(process.env['REPLICA']);

let job = replica;
setInterval(() => {
  console.log(`job ${job} done`);
  job += 2;
}, 4000);
