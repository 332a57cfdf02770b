/**
 * Installs the client of a recipe and starts it: `tsx examples/sources/start.ts NAME [...]`. What follows the name is the recipe's.
 */
import { install, recipes } from './install.js';

const [recipe = ''] = process.argv.splice(2, 1);
if (!recipes.includes(recipe)) throw new TypeError(`Expected the name of a recipe (${recipes.join(', ')}), got \`${recipe}\``);
install(recipe);
await import(`./${recipe}/main.js`);
