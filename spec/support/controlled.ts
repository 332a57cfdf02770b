import { Controller, type Config, type ControllerContext, type EventStream, noopLogger, type Reconciler, type Step } from 'kreconciler';

/** A controller that logs nothing, with the steps it has made so far. */
export function controlled(
  reconciler: Reconciler<ControllerContext>,
  streams: Record<string, EventStream>,
  config: Partial<Config> = {},
): { controller: Controller; steps: Step[]; kinds: (id?: string) => string[] } {
  const controller = new Controller({ observability: { logger: noopLogger }, ...config }, reconciler, streams);
  const steps: Step[] = [];
  controller.steps.subscribe((step) => steps.push(step));
  const kinds = (id?: string): string[] => steps.filter((step) => id === undefined || step.id === id).map(({ kind }) => kind);
  return { controller, steps, kinds };
}
