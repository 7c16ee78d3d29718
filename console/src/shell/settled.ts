/** Calls that always give an answer: what they throw becomes a refusal that a page can show. */

import type { Client, Refusal } from "@daybook/client";

type Answer = { readonly ok: true };

/** What was asked for cannot be asked: a name in the address is none. */
class WrongName extends Error {
  override readonly name = "WrongName";
}

/** The calls for one aggregate type, whose name may come from the address. */
export function callsOf(db: Client, type: string): NonNullable<Client[string]> {
  const calls = db[type];
  // The client also has members that are no aggregate types, such as `$listeners`.
  if (typeof calls !== "function" || typeof calls.listPage !== "function") {
    throw new WrongName(
      `${JSON.stringify(type)} is not the name of an aggregate type. ` +
        "Such a name has small letters, digits and underscores, and begins with a letter.",
    );
  }
  return calls;
}

/** The answer of a call, or its refusal; never throws. */
export async function settled<Value extends Answer>(
  call: () => PromiseLike<Value | Refusal>,
): Promise<Value | Refusal> {
  try {
    return await call();
  } catch (cause) {
    const isWrongName = cause instanceof WrongName;
    const error = isWrongName
      ? cause.message
      : `This page has failed: ${cause instanceof Error ? cause.message : String(cause)}`;
    const error_type = isWrongName ? "bad_request" : "internal";
    return { ok: false, error_type, error, status: 0 };
  }
}
