/** What the portable suite is run with: a real server, and samples that others have signed. */

import type { RunningDaybook } from "../../../sdk/src/test/mod.ts";
import { encodePayload, signatureHeaders } from "../../../src/domain/listener/webhook.ts";
import bundles from "../../golden/audit/bundles.json" with { type: "json" };
import receipts from "../../golden/audit/receipts.json" with { type: "json" };
import type { SuiteInput } from "./suite.ts";

const NOW_MS = 1_800_000_000_000;
const SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

/** `run`: one digit or letter for each run beside the same server. */
export function suiteInput({ url, key, readKey, token }: RunningDaybook, run: string): SuiteInput {
  const deliveryId = "dlv_1";
  const raw =
    '{"key":"order:a","type":"was_placed","data":{"item":"größe"},"metadata":{"timestamp":1}}';
  const body = encodePayload({
    deliveryId,
    listener: "hook",
    attempt: 1,
    tenant: { instanceId: "ins_1", environment: "test", number: 1 },
    event: { id: "000000000000", hash: "ab".repeat(32), raw, timestamp: 1_700_000_000 },
  });
  const signing = { deliveryId, secret: SECRET, sentMs: NOW_MS, prefix: "SVC" };
  const [{ fields, signature }] = receipts.receipts as [typeof receipts.receipts[number]];
  return {
    url,
    key,
    readKey,
    token,
    run,
    nowhere: "http://127.0.0.1:9",
    webhook: { secret: SECRET, body, headers: signatureHeaders(body, signing), nowMs: NOW_MS },
    publicKey: bundles.valid[0]!.bundle.anchor.public_key,
    bundles: [...bundles.valid.map((one) => ({ ...one, step: "ok" })), ...bundles.refused],
    receipt: {
      format: 1,
      scope: "erasure",
      ...fields,
      signature,
      public_key: receipts.public_key,
    },
  };
}
