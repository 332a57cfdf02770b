// What the tests beside this file are about: a reconciler that keeps DNS records as they are wanted.
import type { Reconciler } from 'kreconciler/operators';

/** What the reconciler needs of the world: a port, so that a test can put a world of its own behind it. */
export interface Zone {
  wanted(name: string): Promise<string | undefined>;
  actual(name: string): Promise<string | undefined>;
  put(name: string, address: string): Promise<void>;
  remove(name: string): Promise<void>;
}

export function dnsReconciler(zone: Zone): Reconciler {
  return async (name) => {
    const [wanted, actual] = [await zone.wanted(name), await zone.actual(name)];
    if (wanted === actual) return;
    if (wanted === undefined) await zone.remove(name);
    else await zone.put(name, wanted);
  };
}
