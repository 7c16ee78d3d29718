/** Runs `store_level.ts` for a peer: embedded stores on the server's core, clients on the other. */

import type { Peer, PeerPlace } from "./catalog.ts";
import type { StoreRates } from "./store_level.ts";
import type { Sizes } from "./sizes.ts";
import type { Measured } from "./work.ts";

const WRITERS = 64;
const EMBEDDED: ReadonlySet<string> = new Set(["emmett_sqlite"]);

export async function* measureStores(
  peer: Peer,
  place: PeerPlace,
  sizes: Sizes,
): AsyncIterable<Measured> {
  const folder = `${place.folder}/store_level`;
  if (peer.kind === "ours") {
    await Deno.mkdir(folder, { recursive: true });
    const given = JSON.stringify({ folder });
    yield* toMeasured(await runStores(place.wrapper, peer.name, given, sizes));
    return;
  }
  const running = await peer.start({ ...place, folder });
  try {
    const { name, connection } = running.store!;
    const wrapper = EMBEDDED.has(name) ? place.wrapper : [];
    yield* toMeasured(await runStores(wrapper, name, JSON.stringify(connection), sizes));
  } finally {
    await running.stop();
  }
}

async function runStores(
  wrapper: readonly string[],
  name: string,
  connection: string,
  { seconds, warmupSeconds, limitSeconds }: Sizes,
): Promise<StoreRates> {
  const script = new URL("store_level.ts", import.meta.url).pathname;
  const deno = [Deno.execPath(), "run", "-A", "--no-lock", "--quiet", script];
  const given = [name, connection, seconds, warmupSeconds, WRITERS].map(String);
  const [program, ...args] = [...wrapper, ...deno, ...given];
  const signal = AbortSignal.timeout(limitSeconds * 1000);
  const { success, stdout, stderr } = await new Deno.Command(program!, { args, signal }).output();
  if (!success) throw new Error(new TextDecoder().decode(stderr).slice(-500));
  return JSON.parse(new TextDecoder().decode(stdout));
}

function toMeasured({ spread, hot }: StoreRates): Measured[] {
  return [
    { work: `store level: appends of ${WRITERS}`, value: spread, unit: "appends/s" },
    { work: `store level: appends of ${WRITERS} to one stream`, value: hot, unit: "appends/s" },
  ];
}
