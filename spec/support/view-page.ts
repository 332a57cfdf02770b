import { build } from 'esbuild';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const FOLDER = fileURLToPath(new URL('../../lib/view/page/', import.meta.url));

/** The module that holds the page as a string. */
export const PAGE_MODULE = join(FOLDER, 'page.js');

/**
 * What {@link PAGE_MODULE} has to be: page.html with page.css and the bundle of main.ts in it. Names stay as they are, so that what a
 * browser shows of the script can be read.
 */
export async function pageModule(): Promise<string> {
  const [style, script] = await Promise.all([bundle('page.css'), bundle('main.ts')]);
  const html = readFileSync(join(FOLDER, 'page.html'), 'utf8')
    .replace(/^\s+/gm, '')
    .replace('/* page.css */', () => style)
    .replace('// main.ts', () => script);
  return `// Made by \`npm run build:page\` out of page.html, page.css and main.ts; see there.\nexport const page =\n  ${JSON.stringify(html)};\n`;
}

async function bundle(file: string): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [join(FOLDER, file)],
    bundle: true,
    write: false,
    format: 'iife',
    target: ['es2022', 'chrome109', 'firefox115', 'safari16.4'],
    conditions: ['es2015'],
    minifySyntax: true,
    minifyWhitespace: true,
    legalComments: 'none',
    charset: 'ascii',
    logLevel: 'silent',
  });
  const text = outputFiles[0]?.text.trim() ?? '';
  // Nothing in it may end the element that it stands in.
  if (/<\/(script|style)|<!--/i.test(text)) throw new Error(`${file} would end its own element`);
  return text;
}
