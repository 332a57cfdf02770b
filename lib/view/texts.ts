/** How much is shown of a text, in UTF-16 units. */
export const LONGEST = 1_000;

/** How much is shown of a list of names. */
const MOST = 20;

/** A text of any length, as far as it is shown. */
export function cut(text: string): string {
  return text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text;
}

export function cutAll(texts: readonly string[]): readonly string[] {
  return texts.slice(0, MOST).map(cut);
}

/** Whether an id can be asked for by an address: browsers take some away, and half of a surrogate pair stands in none. */
export function isAddressable(id: string): boolean {
  return id.length <= LONGEST && id !== '.' && id !== '..' && !/\p{Surrogate}/u.test(id);
}
