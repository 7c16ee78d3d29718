/** Stores of earlier builds: today's server opens each as it is and loses nothing of it. */

import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { FORMAT } from "../../src/kv/sqlite/upgrade_store.ts";
import { type ServerProcess, startServer } from "../support/server_process.ts";

const STORES = new URL("../golden/stores/", import.meta.url);
const ORDERS = 10;
const EVENTS_OF_EACH = 4;

/** Unpacks the files of the store into a new data folder. */
async function unpack(name: string): Promise<string> {
  const folder = await Deno.makeTempDir({ prefix: "daybook_old_" });
  for await (const { name: file } of Deno.readDir(new URL(`${name}/`, STORES))) {
    const packed = await Deno.open(new URL(`${name}/${file}`, STORES));
    const unpacked = packed.readable.pipeThrough(new DecompressionStream("gzip"));
    await Deno.writeFile(`${folder}/${file.replace(/\.gz$/, "")}`, unpacked, { mode: 0o600 });
  }
  return folder;
}

function orderId(number: number): string {
  return `00000000-0000-4000-8000-0000000000${String(number).padStart(2, "0")}`;
}

async function ask(server: ServerProcess, path: string, body?: unknown) {
  const { read, write } = server.credentials.keys.test;
  const response = await fetch(`${server.baseUrls.test}${path}`, {
    method: body === undefined ? "GET" : "POST",
    headers: {
      authorization: `Bearer ${body === undefined ? read : write}`,
      "content-type": "application/json",
    },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  return { status: response.status, body: await response.json() };
}

async function checkOrders(server: ServerProcess): Promise<void> {
  // Newest first: later anchors may have been added since, and the last is the store's own.
  const anchors = (await ask(server, "/_audit/anchors")).body.data;
  const anchor = anchors.at(-1).id;
  for (let number = 0; number < ORDERS; number++) {
    const { status, body } = await ask(server, `/order/${orderId(number)}`);
    assert.equal(status, 200);
    assert.deepEqual(body.data, { total: number + ORDERS * (EVENTS_OF_EACH - 1) });
    assert.equal(body.metadata.length, EVENTS_OF_EACH);
    // What the store's own anchor covers can still be proven.
    const path = `/order/${orderId(number)}/audit/attestation/2?anchor=${anchor}`;
    const proof = await ask(server, path);
    assert.equal(proof.status, 200);
    assert.equal(proof.body.stream.event_count, EVENTS_OF_EACH - 1);
  }
}

/** The feed has the events of the earlier build too, each once, in the order of its stream. */
async function checkFeed(server: ServerProcess, written: number): Promise<void> {
  let page = (await ask(server, "/_feed?limit=1000")).body;
  while (page.building === true) {
    await new Promise((resolve) => setTimeout(resolve, 50));
    page = (await ask(server, "/_feed?limit=1000")).body;
  }
  const counts = new Map<string, number>();
  for (const { id, event } of page.data) {
    const due = counts.get(event.key) ?? 0;
    assert.equal(Number(id), due, event.key);
    counts.set(event.key, due + 1);
  }
  const expected = Array.from(
    { length: ORDERS },
    (_, n) => [`order:${orderId(n)}`, EVENTS_OF_EACH],
  );
  assert.deepEqual(Object.fromEntries(counts), {
    ...Object.fromEntries(expected),
    "order:global": written,
  });
}

async function findFaults(dataDir: string): Promise<string> {
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "main.ts", "fsck"],
    cwd: new URL("../../", import.meta.url),
    env: { DAYBOOK_DATA_DIR: dataDir, NO_COLOR: "1" },
  }).output();
  const text = new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr);
  return code === 0 ? "" : text;
}

function formatOf(dataDir: string): unknown {
  const db = new DatabaseSync(`${dataDir}/daybook.sqlite`, { readOnly: true });
  try {
    return db.prepare("SELECT format FROM store").get()!.format;
  } finally {
    db.close();
  }
}

const NAMES = [4, 5, 6].flatMap((format) => [`format_${format}_closed`, `format_${format}_killed`]);

for (const name of NAMES) {
  Deno.test(`a store of ${name} is brought to today's format, with all that it holds`, async () => {
    const dataDir = await unpack(name);
    try {
      for (let start = 0; start < 2; start++) {
        const server = await startServer({ dataDir });
        try {
          await checkOrders(server);
          const data = { total: 7 };
          const metadata = { actor: { type: "clerk", id: "global" } };
          const written = await ask(server, "/order/global/was_placed", { data, metadata });
          assert.equal(written.status, 201);
          const read = await ask(server, "/order/global");
          assert.equal(read.body.metadata.length, start + 1);
          await checkFeed(server, start + 1);
        } finally {
          // The first life ends as by a power cut of the machine, the second politely.
          if (start === 0) await server.kill();
          else assert.equal(await server.stop(), 0);
        }
      }
      assert.equal(formatOf(dataDir), FORMAT);
      assert.equal(await findFaults(dataDir), "");
    } finally {
      await Deno.remove(dataDir, { recursive: true });
    }
  });
}
