/**
 * NATS JetStream: one stream of the server for everything, with a subject for each of our
 * streams.
 *
 * It acknowledges a message before the disk has it (`sync_interval`, two minutes), so it is
 * listed apart. This release cannot write several messages all or nothing.
 */

import { loadPackage } from "../packages.ts";
import type { Connection, PeerStore } from "../peer_store.ts";

const STREAM = "events";

export async function openStore({ url }: Connection): Promise<PeerStore> {
  const { connect, JSONCodec, StorageType } = await loadPackage("nats");
  const connection = await connect({ servers: url });
  const manager = await connection.jetstreamManager();
  const subjects = [`${STREAM}.>`];
  await manager.streams.add({ name: STREAM, subjects, storage: StorageType.File });
  const client = connection.jetstream();
  const codec = JSONCodec();
  return {
    async append(stream, events) {
      if (events.length !== 1) throw new Error("several events are not one write here");
      const { seq } = await client.publish(`${STREAM}.${stream}`, codec.encode(events[0]));
      return seq;
    },
    close: () => connection.close(),
  };
}
