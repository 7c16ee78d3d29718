/**
 * DNS lookups for webhook connections, with every address checked before it is used.
 *
 * The connection uses the checked addresses themselves. The name is not resolved again, so it
 * cannot change its meaning between check and use. See docs/reference/listeners.md.
 */

import type { LookupFunction } from "node:net";
import { isPublicAddress } from "../domain/listener/public_address.ts";

/** Resolves a name to all of its addresses; throws if it has none. */
export type Resolve = (name: string) => Promise<readonly ResolvedAddress[]>;

export interface ResolvedAddress {
  readonly address: string;
  readonly family: number;
}

/** The address is one that deliveries must not go to. */
export class AddressRefused extends Error {
  override readonly name = "AddressRefused";
}

/** The name has no address, or the name service gave no answer. */
export class NameNotFound extends Error {
  override readonly name = "NameNotFound";
}

/**
 * The lookup function of a connection. A single non-public address refuses the whole name: a
 * name that points inside as well as outside is a trap or a mistake.
 */
export function guardedLookup(resolve: Resolve, allowPrivate: boolean): LookupFunction {
  return (name, options, callback) => {
    resolve(name).then((addresses) => {
      if (addresses.length === 0) return callback(new NameNotFound(name), []);
      const refused = addresses.find(({ address }) => !allowPrivate && !isPublicAddress(address));
      if (refused !== undefined) return callback(new AddressRefused(refused.address), []);
      if (options.all) return callback(null, [...addresses]);
      callback(null, addresses[0]!.address, addresses[0]!.family);
    }, (error) => callback(new NameNotFound(String(error)), []));
  };
}
