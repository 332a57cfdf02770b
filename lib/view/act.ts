import { asyncScheduler, type Subscription } from 'rxjs';
import type { Action, Answer, Asked } from './api.js';
import { RefusedError } from './answers.js';
import { errorMessage } from './step-message.js';
import { cut, LONGEST } from './texts.js';
import type { Viewed } from './viewed.js';

/** How many bytes the body of a request may have. */
const BODY = 65_536;

/** How long, in ms, a run is waited for. */
const PATIENCE = 10_000;

/** @throws RefusedError if the body is not what it has to be */
export async function asked(request: Request, action: Action): Promise<Asked> {
  const { id, why } = await bodyOf(request);
  if (id !== undefined && (typeof id !== 'string' || id === '')) throw new RefusedError(400, 'Expected `id` to be a non-empty string');
  if (id === undefined && (action === 'run' || action === 'discard')) throw new RefusedError(400, `Expected an \`id\` to ${action}`);
  if (why !== undefined && (typeof why !== 'string' || why.length > LONGEST)) {
    throw new RefusedError(400, `Expected \`why\` to be a string of at most ${String(LONGEST)} characters`);
  }
  return { ...(id !== undefined && { id }), ...(why !== undefined && { why }) };
}

/**
 * Does what was asked for, and says what became of it.
 *
 * @param user - who has asked, if that is a name
 */
export async function act(action: Action, { id, why }: Asked, controller: Viewed, gone: AbortSignal, user: unknown): Promise<Answer> {
  controller.config.observability.logger.info(`Asked by the view to ${action}`, {
    ...(id !== undefined && { id: cut(id) }),
    ...(why !== undefined && { why }),
    ...(typeof user === 'string' && user !== '' && { user: cut(user) }),
  });
  const said = { action, ...(id !== undefined && { id: cut(id) }) };
  if (action === 'run') return { ...said, ...(await run(id as string, controller, gone)) };
  if (action === 'pause') controller.pause(id, why);
  else if (action === 'resume') controller.resume(id);
  else controller.discard(id as string);
  return { ...said, outcome: 'done' };
}

async function run(id: string, controller: Viewed, gone: AbortSignal): Promise<Pick<Answer, 'outcome' | 'error'>> {
  const patience = new AbortController();
  const stop = (): void => {
    patience.abort();
  };
  const timer: Subscription = asyncScheduler.schedule(stop, PATIENCE);
  gone.addEventListener('abort', stop);
  try {
    await controller.reconcile(id, { force: true, signal: patience.signal });
    return { outcome: 'succeeded' };
  } catch (error) {
    return patience.signal.aborted ? { outcome: 'pending' } : { outcome: 'failed', error: errorMessage(error) };
  } finally {
    timer.unsubscribe();
    gone.removeEventListener('abort', stop);
  }
}

async function bodyOf(request: Request): Promise<Readonly<Record<string, unknown>>> {
  const text = await textOf(request);
  try {
    const body: unknown = JSON.parse(text);
    if (typeof body === 'object' && body !== null && !Array.isArray(body)) return body as Record<string, unknown>;
  } catch {
    // Told below.
  }
  throw new RefusedError(400, 'Expected a JSON object');
}

async function textOf({ body }: Request): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  let size = 0;
  try {
    for await (const chunk of (body ?? []) as AsyncIterable<Uint8Array>) {
      size += chunk.byteLength;
      if (size > BODY) break;
      text += decoder.decode(chunk, { stream: true });
    }
  } catch {
    throw new RefusedError(400, 'The body broke off');
  }
  if (size > BODY) throw new RefusedError(413, `Expected a body of at most ${String(BODY)} bytes`);
  return text + decoder.decode();
}
