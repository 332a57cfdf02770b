import { checkInspectIds, type InspectIdsConfig } from '../inspect-ids.js';
import { RefusedError } from './answers.js';
import { idOf } from './cursor.js';

/** @throws RefusedError if the query is not what it has to be */
export function idsQuery(query: URLSearchParams): InspectIdsConfig {
  // An empty one is what a form sends for none.
  const text = (name: string): string | undefined => query.get(name) || undefined;
  const [limit, cursor] = [text('limit'), text('cursor')];
  try {
    return checkInspectIds({
      state: text('state') as InspectIdsConfig['state'],
      search: text('search'),
      cursor: cursor === undefined ? undefined : idOf(cursor),
      // What is no number is left as it came, so that it is told as it came.
      limit: (limit !== undefined && /^\d+$/.test(limit) ? Number(limit) : limit) as number | undefined,
    });
  } catch (error) {
    throw new RefusedError(400, error instanceof TypeError ? error.message : 'Expected `cursor` to be the `next` of a page');
  }
}
