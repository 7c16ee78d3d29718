/** Answers keyed writes that were written before. See docs/reference/writing.md. */

import { accept, type Outcome, refuse } from "../../domain/refusal.ts";
import type { IdempotencyClaim, Written } from "../../domain/write/write.ts";
import type { Transaction } from "../../kv/engine.ts";
import {
  answerFromEntry,
  type LedgerEntry,
  readLedger,
  touchLedger,
} from "../../store/streams/idempotency.ts";

/**
 * The recorded answer for a key, or a mismatch if the body differs. Undefined for an unknown
 * key.
 */
export async function answerFromLedger(
  tx: Transaction,
  tenant: number,
  idempotency: IdempotencyClaim,
  now: number,
): Promise<Outcome<Written> | undefined> {
  const entry = await readLedger(tx, tenant, idempotency);
  return answerRepeated(tx, tenant, idempotency, entry, now);
}

/** The same for an entry that the transaction has read. */
export function answerRepeated(
  tx: Transaction,
  tenant: number,
  idempotency: IdempotencyClaim,
  entry: LedgerEntry | undefined,
  now: number,
): Outcome<Written> | undefined {
  const answer = answerFromEntry(entry, idempotency, now);
  if (entry === undefined || answer.kind === "unseen") return undefined;
  if (answer.kind === "mismatch") return refuse({ kind: "idempotency_mismatch" });
  touchLedger(tx, tenant, { key: idempotency.key, entry }, now);
  return accept(answer.written);
}
