/** In ms. PostgreSQL takes times of up to 24 days, and some of ours are the sum of three. */
export const A_WEEK = 604_800_000;
