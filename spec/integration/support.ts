/** Set by `npm run test:integration`; `npm test` lists these tests as skipped. */
export const onlyInIntegration = process.env['INTEGRATION'] === '1';

/** How long the chaos goes on: `FOR=20 npm run test:integration`. Default 60. */
export const seconds = Number(process.env['FOR'] ?? 60);
