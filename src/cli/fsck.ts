/**
 * `fsck`: walks a store and checks its evidence, then each row of its file against its checksum.
 * Exit code 0, or 1 with every fault printed.
 */

import { systemHost } from "../host.ts";
import { checkStoreFile } from "../kv/open_engine.ts";
import { checkStore as findFaults } from "../queries/check_store.ts";
import { complain, print } from "./print.ts";
import { EXIT_FAILED, exitWith, reasonOf, settingsOrExit } from "./settings.ts";
import { openStoreOrExit } from "./transfer_settings.ts";

export async function checkStore({ all = false }: { readonly all?: boolean }): Promise<void> {
  const config = settingsOrExit();
  const engine = await openStoreOrExit(config, systemHost(), "fsck");
  try {
    const { faults, environments, streams, events, anchors } = await findFaults(engine, all);
    await engine.close();
    for (const { place, subject, fault } of faults) complain(`${place}: ${subject}: ${fault}`);
    const walked = `${environments} environments, ${streams} streams, ${events} events, ` +
      `${anchors} anchors`;
    const broken = checkStoreFile(config);
    for (const fault of broken) complain(`file: ${fault}`);
    const count = faults.length + broken.length;
    if (count > 0) exitWith(EXIT_FAILED, `${count} faults in ${walked}`);
    print(`No fault in ${walked}`);
  } catch (error) {
    exitWith(EXIT_FAILED, `The store cannot be walked: ${reasonOf(error)}`);
  }
  Deno.exit(0);
}
