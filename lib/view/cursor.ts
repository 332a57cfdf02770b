import { LONGEST } from './texts.js';

/**
 * An id as it stands in an address, whatever it is made of. Of one that is longer than what is shown only the beginning, so that all ids
 * that begin alike are passed over.
 */
export function cursorOf(id: string): string {
  const text = id.length > LONGEST ? `${id.slice(0, LONGEST)}\uffff` : id;
  let bytes = '';
  for (let i = 0; i < text.length; i++) bytes += String.fromCharCode(text.charCodeAt(i) >> 8, text.charCodeAt(i) & 255);
  return btoa(bytes).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}

/** @throws if it is none that `cursorOf` made */
export function idOf(cursor: string): string {
  const bytes = atob(cursor.replaceAll('-', '+').replaceAll('_', '/'));
  let text = '';
  for (let i = 0; i + 1 < bytes.length; i += 2) text += String.fromCharCode((bytes.charCodeAt(i) << 8) | bytes.charCodeAt(i + 1));
  return text;
}
