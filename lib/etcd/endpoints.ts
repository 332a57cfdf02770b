import { check } from '../../operators/check.js';

/** The endpoints that `url` names, without a slash at their end. @throws TypeError if it names none; what it shows holds no password */
export function endpoints(url: unknown): readonly string[] {
  const urls = Array.isArray(url) ? (url as unknown[]) : [url];
  const expectation = 'an http or https URL without a password, or a list of such';
  check('url', url, expectation, urls.length > 0);
  return urls.map((url) => {
    const { protocol, username, password } = parsed(url) ?? {};
    const shown = username || password ? 'a URL with a password' : url;
    check('url', shown, expectation, (protocol === 'http:' || protocol === 'https:') && shown === url);
    return (url as string).replace(/\/+$/, '');
  });
}

function parsed(url: unknown): URL | undefined {
  try {
    return new URL(url as string);
  } catch {
    return undefined;
  }
}
