import { answer } from './answers.js';
import type { PageData } from './api.js';
import { page } from './page/page.js';

/** The page, with what it has to know put in, and a policy by which nothing can run in it but what is in it. */
export class Document {
  readonly #html: string;
  #policy: Promise<string> | undefined;

  constructor(data: PageData) {
    const text = JSON.stringify(data).replaceAll('<', '\\u003c');
    this.#html = page.replace('__VIEW__', () => text);
  }

  async response(): Promise<Response> {
    this.#policy ??= policy(this.#html);
    return answer(this.#html, 'text/html; charset=utf-8', 200, await this.#policy);
  }
}

async function policy(html: string): Promise<string> {
  const [style, script] = await Promise.all([hashOf(html, 'style'), hashOf(html, 'script')]);
  return [
    "default-src 'none'",
    `script-src ${script}`,
    `style-src ${style}`,
    "connect-src 'self'",
    'img-src data:',
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
  ].join('; ');
}

/** Of what stands in the only element of that name without attributes. */
async function hashOf(html: string, element: string): Promise<string> {
  const from = html.indexOf(`<${element}>`) + element.length + 2;
  const text = html.slice(from, html.indexOf(`</${element}>`, from));
  const hash = new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text)));
  return `'sha256-${btoa(Array.from(hash, (byte) => String.fromCharCode(byte)).join(''))}'`;
}
