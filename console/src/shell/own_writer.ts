/**
 * The client that writes, if its key belongs to the instance that the page shows: lists may come by
 * the token of an operator from one instance, while the key of the tab belongs to another one.
 */

import type { Client, Refusal } from "@daybook/client";
import { connection } from "./connection.ts";
import { useLoaded } from "./loaded.ts";

export interface OwnWriter {
  /** Absent while it is not known whose key it is. */
  readonly writer?: Client;
  /** Why there is none. */
  readonly lack?: "no_key" | "other_instance";
  /** Why it could not be found out. */
  readonly refusal?: Refusal;
  /** Tries again to find it out. */
  retry(): void;
}

export function useOwnWriter(): OwnWriter {
  const { db, writer } = connection.value;
  const check = useLoaded((signal) => compareInstances(db, writer, signal), [db, writer]);
  const { value, refusal, isLoading } = check.now.value;
  const retry = check.reload;
  if (writer === undefined) return { lack: "no_key", retry };
  // What was found out about another key or instance says nothing about these.
  if (value?.db !== db || value.writer !== writer) {
    return { refusal: isLoading ? undefined : refusal, retry };
  }
  return value.isSame ? { writer, retry } : { lack: "other_instance", retry };
}

interface Compared {
  readonly ok: true;
  readonly db: Client;
  readonly writer: Client | undefined;
  readonly isSame: boolean;
}

/** Each environment of each instance signs with a key of its own. */
async function compareInstances(
  db: Client,
  writer: Client | undefined,
  signal: AbortSignal,
): Promise<Compared | Refusal> {
  if (writer === undefined || writer === db) return { ok: true, db, writer, isSame: true };
  const [shown, written] = await Promise.all([
    db.$audit.signingKey({ signal }),
    writer.$audit.signingKey({ signal }),
  ]);
  if (!shown.ok) return shown;
  if (!written.ok) return written;
  return { ok: true, db, writer, isSame: shown.public_key === written.public_key };
}
