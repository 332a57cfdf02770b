import { writeFileSync } from 'node:fs';
import { PAGE_MODULE, pageModule } from '../support/view-page.js';

writeFileSync(PAGE_MODULE, await pageModule());
