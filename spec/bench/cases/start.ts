import type { Case } from '../case.js';

export const start: Case = {
  title: 'from the import to the first run',
  needs: 'promise',
  columns: [{ key: 'ms', label: 'ms', digits: 1 }],
  baseline: 'fastq',
  async measure(load) {
    const started = performance.now();
    const contender = await load();
    return new Promise((resolve, reject) => {
      Promise.resolve(contender.open(async () => resolve({ ms: performance.now() - started }), {})).then(({ push }) => push('id'), reject);
    });
  },
};
