/** Listeners: receivers that answer badly or not at all, and lists of many deliveries. */

import type { Attack, Json } from "../attack.ts";
import {
  deploySpec,
  eventType,
  fields,
  idOf,
  read,
  repeat,
  specOf,
  times,
  write,
  writeMany,
} from "../documents.ts";

/** What receivers say after they have read something, by the first segment of their paths. */
const SAYINGS = {
  heads: "HTTP/1.1 103 E\r\n\r\n".repeat(50_000),
  chunks: `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${"1\r\na\r\n".repeat(65_532)}`,
  silence: "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n",
};

let receiver: Deno.TcpListener | undefined;

/** A receiver that lasts as long as the siege. */
function receiverPort(): number {
  if (receiver === undefined) {
    receiver = Deno.listen({ hostname: "127.0.0.1", port: 0 });
    void accept(receiver);
  }
  return receiver.addr.port;
}

async function accept(listener: Deno.TcpListener): Promise<void> {
  for await (const connection of listener) void sayAll(connection).catch(() => {});
}

async function sayAll(connection: Deno.Conn): Promise<void> {
  const head = new Uint8Array(64);
  const kind = new TextDecoder().decode(head.subarray(0, await connection.read(head) ?? 0))
    .split("/")[1] as keyof typeof SAYINGS;
  await new Blob([SAYINGS[kind]]).stream().pipeTo(connection.writable, { preventClose: true });
}

/** 100 listeners where nobody listens, with long addresses. Those of each turn have new names. */
function deafListeners(turn = 0): Json {
  const url = `http://127.0.0.1:1/${"a".repeat(2_000)}`;
  const name = turn === 0 ? "f" : `t${turn}_`;
  const listener = { url, secret: "a secret of sixteen", events: ["*"] };
  const named = repeat(100, (index) => [`${name}${index}`, listener] as const);
  return { modules: { listeners: Object.fromEntries(named) } };
}

function listenerRow(kind: keyof typeof SAYINGS, does: string): Attack {
  const listeners = () =>
    fields(100, (i) => ({
      url: `http://127.0.0.1:${receiverPort()}/${kind}/${i}`,
      secret: "a secret of sixteen",
      events: ["*"],
    }));
  return {
    name: `listeners that answer with ${kind}`,
    does,
    needs: "spec + write key",
    watch: ["delivery"],
    spec: () =>
      specOf({ thing: { was_seen: eventType() } }, { modules: { listeners: listeners() } }),
    waves: [{
      request: (turn: number) => write("thing", idOf(turn % 500), "was_seen", {}),
      clients: 4,
      pauseMs: 20,
    }],
    seconds: 12,
  };
}

/** Part of the group of what events set off. */
export const LISTENER_ATTACKS: readonly Attack[] = [
  {
    name: "lists of listeners with many deliveries",
    does: "pages of 100 listeners, each with 300 deliveries that wait",
    needs: "spec + read key",
    spec: () => specOf({ thing: { was_seen: eventType() } }, deafListeners()),
    prepare: () => repeat(10, (i) => writeMany("thing", idOf(i), times(30, "was_seen"))),
    waves: [{ request: read("/_listeners?limit=200"), clients: 16 }],
  },
  {
    name: "deliveries to a long address",
    does: "250 clients ask for pages of 200 deliveries to an address of 2,000 characters",
    needs: "spec + write key",
    spec: () => specOf({ thing: { was_seen: eventType() } }, deafListeners()),
    prepare: () => repeat(10, (i) => writeMany("thing", idOf(i), times(30, "was_seen"))),
    waves: [{ request: read("/_listeners/f0/deliveries?limit=200"), clients: 250 }],
  },
  {
    name: "listeners that come and go",
    does: "deploys of 100 listeners with new names, and 100 clients that write events for them",
    needs: "spec + write key",
    watch: ["delivery"],
    spec: () => specOf({ thing: { was_seen: eventType() } }, deafListeners()),
    waves: [
      {
        request: (turn: number) => {
          const spec = specOf({ thing: { was_seen: eventType() } }, deafListeners(turn + 1));
          return deploySpec(spec, { force: true });
        },
        clients: 1,
      },
      {
        request: (turn: number) => write("thing", idOf(turn % 500), "was_seen", {}),
        clients: 100,
        pauseMs: 1_000,
      },
    ],
    seconds: 12,
  },
  listenerRow("heads", "100 listeners that answer with early heads without end"),
  listenerRow("chunks", "100 listeners that answer in 65,532 chunks of one byte"),
  listenerRow("silence", "100 listeners that send the head of an answer and nothing more"),
];
