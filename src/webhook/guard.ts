/**
 * The addresses of a name, all of them checked, for the very connection that is about to be made:
 * nobody asks for the name again, so it cannot change its meaning in between. Decisions, section
 * 14.
 */

import type { LookupFunction } from "node:net";
import { isPublicAddress } from "../domain/listener/public_address.ts";

/** Gives every address of a name; throws where it has none. */
export type Resolve = (name: string) => Promise<readonly ResolvedAddress[]>;

export interface ResolvedAddress {
  readonly address: string;
  readonly family: number;
}

/** An address that deliveries may not go to. */
export class AddressRefused extends Error {
  override readonly name = "AddressRefused";
}

/** The name has no address, or the name service did not tell. */
export class NameNotFound extends Error {
  override readonly name = "NameNotFound";
}

/**
 * What a connection uses to look up its host. One address that is not public refuses all: a name
 * that points inside as well as outside is a trap or a mistake.
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
