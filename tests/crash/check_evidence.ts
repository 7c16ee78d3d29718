/** After all kills: runs the checks of `fsck` on the embedded store and on its anchors. */

import { join } from "node:path";
import { checkPages } from "../../src/kv/sqlite/pages/page_check.ts";
import { checkSqliteFile } from "../../src/kv/sqlite/check_file.ts";
import { openSqliteEngine } from "../../src/kv/sqlite/engine.ts";
import { checkStore } from "../../src/features/checks/check_store.ts";

/** Makes anchors every second, so that every life of the server makes some. */
export const ANCHOR_ALL_THE_TIME = { DAYBOOK_ANCHOR_INTERVAL_S: "1" };

/** For the option `whileDown`. Skipped after a kill: the next life checks what a kill left. */
export async function checkEvidence(dataDir: string, how: "killed" | "stopped"): Promise<string[]> {
  if (how === "killed") return [];
  const path = join(dataDir, "daybook.sqlite");
  const lost = checkPages(path).faults.map((fault) => `fsck: file: ${fault}`);
  const engine = openSqliteEngine({ path });
  const { faults, anchors } = await checkStore(engine, true).finally(() => engine.close());
  const found = faults.map(({ place, subject, fault }) => `fsck: ${place}: ${subject}: ${fault}`);
  found.push(...checkSqliteFile(path).map((fault) => `fsck: file: ${fault}`));
  found.push(...lost);
  if (anchors < 2) found.push(`only ${anchors} anchors were made`);
  return found;
}
