/** The name under which the library asks for its tracer and its meter. */
export const SCOPE = 'kreconciler';
