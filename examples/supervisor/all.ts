/** Waits for all, also if some fail: nothing of them may go on when this is over. Then it rejects with what has failed. */
export async function all(work: readonly Promise<void>[]): Promise<void> {
  const errors = (await Promise.allSettled(work)).flatMap((result) => (result.status === 'rejected' ? [result.reason as unknown] : []));
  if (errors.length > 1) throw new AggregateError(errors, errors.map((error) => (error as Error).message).join('; '));
  if (errors.length > 0) throw errors[0];
}
