/**
 * Counts how often a peer asks the kernel to sync, for a fixed number of single appends. strace
 * counts, in a separate run whose times mean nothing.
 */

import { runWork } from "../bench/load.ts";
import { streamId } from "../bench/requests.ts";
import type { Peer, PeerPlace } from "./catalog.ts";
import type { Outcome } from "./work.ts";

const APPENDS = 200;
const CALLS = "fsync,fdatasync,sync_file_range,msync,syncfs";
const WAYS = [1, 16] as const;

/** Syncs per append, at 1 and at 16 connections. */
export async function* countSyncs(peer: Peer, place: PeerPlace): AsyncIterable<Outcome> {
  if (!await hasStrace()) {
    yield { work: "syncs for an append", reason: "strace is not here, or not allowed" };
    return;
  }
  for (const connections of WAYS) {
    const folder = `${place.folder}/syncs_${connections}`;
    const log = `${folder}.strace`;
    const wrapper = [
      "strace",
      "-D",
      "-f",
      "--seccomp-bpf",
      "-qq",
      "-A",
      "-e",
      `trace=${CALLS}`,
      "-o",
      log,
    ];
    const running = await peer.start({ ...place, folder, wrapper });
    try {
      const { port, requests } = running.target;
      let left = APPENDS;
      const next = () => left-- > 0 ? requests.single(streamId(left), left) : undefined;
      const before = await countLines(log);
      await runWork({ port, connections, expectedStatus: 201, next });
      const value = (await countLines(log) - before) / APPENDS;
      yield { work: `syncs for an append, ${connections}`, value, unit: "syncs" };
    } finally {
      await running.stop();
    }
  }
}

async function hasStrace(): Promise<boolean> {
  const args = ["-f", "-o", "/dev/null", "true"];
  return await new Deno.Command("strace", { args }).output()
    .then(({ success }) => success, () => false);
}

/** Counts the calls that have begun, because strace splits an interrupted call into two lines. */
async function countLines(log: string): Promise<number> {
  const text = await Deno.readTextFile(log).catch(() => "");
  return text.split("\n").filter((line) => /\bf?(?:data)?sync[a-z_]*\(/.test(line)).length;
}
