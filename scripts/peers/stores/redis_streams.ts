/** Redis streams: one script checks the length, adds the events and records the stream's name. */

import type { Connection, PeerEvent, PeerStore } from "../peer_store.ts";
import { loadPackage } from "../packages.ts";

/**
 * ARGV holds for each target the expected length or -1, and the number of its events. Then
 * type, data and metadata of each event follow.
 */
const APPEND = `
local first = -1
local at = 1
for index, stream in ipairs(KEYS) do
  if index < #KEYS then
    local length = redis.call('XLEN', stream)
    local expected = tonumber(ARGV[at])
    if expected >= 0 and expected ~= length then
      return redis.error_reply('WRONGLENGTH ' .. length)
    end
    local count = tonumber(ARGV[at + 1])
    at = at + 2
    for event = 1, count do
      redis.call('XADD', stream, '*', 'type', ARGV[at], 'data', ARGV[at + 1], 'metadata', ARGV[at + 2])
      at = at + 3
    end
    redis.call('ZADD', KEYS[#KEYS], 0, stream)
    if first < 0 then first = length end
  end
end
return first`;
const NAMES = "names of streams";
const ANY_LENGTH = "-1";

function argumentsOf(events: readonly PeerEvent[]): string[] {
  const texts = events.flatMap(({ type, data, metadata }) => [
    type,
    JSON.stringify(data),
    JSON.stringify(metadata),
  ]);
  return [ANY_LENGTH, String(events.length), ...texts];
}

export async function openStore({ url }: Connection): Promise<PeerStore> {
  const { createClient } = await loadPackage("redis");
  const client = createClient({ url });
  await client.connect();
  const hash = await client.scriptLoad(APPEND);
  return {
    async append(stream, events) {
      const options = { keys: [stream, NAMES], arguments: argumentsOf(events) };
      return Number(await client.evalSha(hash, options));
    },
    async appendToMany(targets) {
      await client.evalSha(hash, {
        keys: [...targets.map(({ stream }) => stream), NAMES],
        arguments: targets.flatMap(({ events }) => argumentsOf(events)),
      });
    },
    async read(stream) {
      const entries = await client.xRange(stream, "-", "+");
      return entries.map(({ message }: { message: { data: string } }) => JSON.parse(message.data));
    },
    async list(prefix, after, limit) {
      const options = { BY: "LEX", LIMIT: { offset: 0, count: limit } } as const;
      return await client.zRange(NAMES, `(${after || prefix}`, `(${prefix}\uffff`, options);
    },
    async close() {
      await client.close();
    },
  };
}
