/** What the page shows; it stands in the address, so that it can be sent to somebody. */
export interface Route {
  /** The controller. */
  readonly name: string;
  /** The id that is open. */
  readonly id?: string | undefined;
  readonly state: string;
  readonly search: string;
}

/** `#/NAME/ID?state=&search=` */
export function format({ name, id, state, search }: Route): string {
  const query = new URLSearchParams();
  if (state !== '') query.set('state', state);
  if (search !== '') query.set('search', search);
  const path = [name, ...(id === undefined ? [] : [id])].map(encode).join('/');
  return `#/${path}${query.size > 0 ? `?${query.toString()}` : ''}`;
}

/** Whatever stands in the address; a name that is not known is the first one that is. */
export function parse(hash: string, names: readonly string[]): Route {
  const [path = '', query = ''] = hash.replace(/^#\/?/, '').split(/\?(.*)/s);
  const [name = '', ...id] = path.split('/').map(decode);
  const search = new URLSearchParams(query);
  return {
    name: names.includes(name) ? name : (names[0] ?? ''),
    ...(id.length > 0 && id[0] !== '' && { id: id.join('/') }),
    state: search.get('state') ?? '',
    search: search.get('search') ?? '',
  };
}

function encode(text: string): string {
  return encodeURIComponent(text.replace(/[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g, '\ufffd'));
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
