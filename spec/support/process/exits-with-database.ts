import { database } from '../../../examples/postgres/database.js';

// Says where its server is, and exits without having stopped it.
const { url } = await database();
console.log(url);
process.exit();
