/** What the user of `verify.html` knows from elsewhere, as typed and as it is verified. */

import type { BundleOptions } from "@daybook/client/verify";
import { publicKeyIn } from "../shell/pins.ts";

/** As typed. */
export interface Meant {
  readonly keys: string;
  readonly environment: string;
  readonly instanceId: string;
  readonly stream: string;
  readonly index: string;
}

export interface ReadMeant {
  /** Absent if there is no key yet, or a fault. */
  readonly options?: BundleOptions;
  readonly faults?: Readonly<Partial<Record<keyof Meant, string>>>;
}

export const NOTHING_MEANT: Meant = {
  keys: "",
  environment: "",
  instanceId: "",
  stream: "",
  index: "",
};

export function readMeant({ keys, environment, instanceId, stream, index }: Meant): ReadMeant {
  const given = keys.split(/[\s,]+/).filter((key) => key !== "");
  const publicKey = given.map(publicKeyIn).filter((key) => key !== undefined);
  if (publicKey.length < given.length) {
    return { faults: { keys: "A public key is 64 hex characters: 0 to 9 and a to f" } };
  }
  if (!/^\s*\d*\s*$/.test(index)) {
    return { faults: { index: "Write a whole number; the first event of a stream is 0" } };
  }
  if (publicKey.length === 0) return {};
  return {
    options: {
      publicKey,
      environment: textIn(environment),
      instanceId: textIn(instanceId),
      stream: textIn(stream),
      index: index.trim() === "" ? undefined : Number(index),
    },
  };
}

/** What was left empty is not checked. */
function textIn(typed: string): string | undefined {
  return typed.trim() === "" ? undefined : typed.trim();
}
