/**
 * `fsck`: checks a store and prints every fault. The exit code is 0 if there is none, else 1.
 *
 * The pages of the file are compared with their checksums before the store is opened, because
 * opening writes some of them. Then the store is walked and its evidence checked. Last, each
 * row of the file is compared with its checksum.
 */

import type { Config } from "../config.ts";
import { systemHost } from "../host.ts";
import { checkStoreFile, checkStorePages } from "../kv/open_engine.ts";
import type { PageCheck } from "../kv/sqlite/pages/page_check.ts";
import { checkStore } from "../features/checks/check_store.ts";
import { complain, print } from "./terminal/print.ts";
import { EXIT_FAILED, exitWith, reasonOf, settingsOrExit } from "./terminal/settings.ts";
import { exitForOpening, openStoreOrExit } from "./transfer/transfer_settings.ts";

export async function fsck({ all = false }: { readonly all?: boolean }): Promise<void> {
  const config = settingsOrExit();
  const { faults: lost, pages, unknown } = pagesOrExit(config);
  // Print these at once: with pages lost, the steps below may not get to their end.
  for (const fault of lost) complain(`file: ${fault}`);
  const engine = await openStoreOrExit(config, systemHost(), "fsck");
  try {
    const { faults, environments, streams, events, anchors } = await checkStore(engine, all);
    await engine.close();
    for (const { place, subject, fault } of faults) complain(`${place}: ${subject}: ${fault}`);
    const walked = `${environments} environments, ${streams} streams, ${events} events, ` +
      `${anchors} anchors`;
    const broken = checkStoreFile(config);
    for (const fault of broken) complain(`file: ${fault}`);
    const count = lost.length + faults.length + broken.length;
    if (unknown > 0) print(describeUnknown(unknown, pages));
    if (count > 0) exitWith(EXIT_FAILED, `${count} faults in ${walked}`);
    print(`No fault in ${walked}`);
  } catch (error) {
    exitWith(EXIT_FAILED, `The store cannot be walked: ${reasonOf(error)}`);
  }
  Deno.exit(0);
}

function pagesOrExit(config: Config): PageCheck {
  try {
    return checkStorePages(config);
  } catch (error) {
    exitForOpening(config, "fsck", error);
  }
}

function describeUnknown(unknown: number, pages: number): string {
  return `${unknown} of ${pages} pages of the file have no sum yet: a write of them that the disk ` +
    "has lost is not found. Each gets its sum when it is written next";
}
