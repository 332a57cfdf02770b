import { readdir, readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type pg from 'pg';

/** What is wanted, and, for people to look at, what is. A change of what is wanted says so. */
const SCHEMA = `
  CREATE TABLE IF NOT EXISTS services (
    name text PRIMARY KEY CHECK (name ~ '^[a-z0-9][a-z0-9.-]*$'),
    spec jsonb NOT NULL
  );
  CREATE TABLE IF NOT EXISTS status (
    name text PRIMARY KEY,
    desired int NOT NULL,
    running int NOT NULL,
    term bigint NOT NULL,
    replica text NOT NULL
  );
  CREATE OR REPLACE FUNCTION service_changed() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    PERFORM pg_notify('services', coalesce(NEW.name, OLD.name));
    RETURN NULL;
  END $$;
  CREATE OR REPLACE TRIGGER service_changed AFTER INSERT OR UPDATE OR DELETE ON services
    FOR EACH ROW EXECUTE FUNCTION service_changed();
`;

/** Makes the tables, and fills an empty one with the services of a folder. */
export async function setUp(client: pg.Client, folder: string): Promise<void> {
  await client.query(SCHEMA);
  const { rowCount } = await client.query('SELECT FROM services');
  if (rowCount !== 0) return;
  for (const file of (await readdir(folder)).filter((file) => file.endsWith('.json'))) {
    await client.query('INSERT INTO services VALUES ($1, $2)', [basename(file, '.json'), await readFile(join(folder, file), 'utf8')]);
  }
}
