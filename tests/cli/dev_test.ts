/** `dev` as a newcomer runs it: one command, then edits, then Ctrl-C. */

import assert from "node:assert/strict";
import { parseSeed } from "../../src/cli/seed_file.ts";
import { runCli, startCli } from "../support/run_cli.ts";
import { reservePorts } from "../support/reserve_ports.ts";

const ORDER = "order:7KD2M9QXA";
const EVENT = `{"key":"${ORDER}","type":"was_placed","data":{"customer":"Ada"}}`;

function specWith(value: string) {
  const handler = { set: { target: "customer", value } };
  const was_placed = { schema: { type: "object" }, handler };
  return { agent_types: ["user"], aggregate_types: { order: { events: { was_placed } } } };
}

Deno.test("dev deploys a watched spec, loads events, starts anew for new ones, and leaves nothing", async () => {
  const folder = await Deno.makeTempDir({ prefix: "daybook_dev_" });
  const ports = reservePorts();
  const data = `${folder}/data`;
  const env = {
    DAYBOOK_DATA_DIR: data,
    DAYBOOK_PORT: String(ports.first),
    XDG_CONFIG_HOME: `${folder}/config`,
  };
  const [spec, seed] = [`${folder}/spec.json`, `${folder}/seed.jsonl`];
  await Deno.writeTextFile(spec, JSON.stringify(specWith("$.data.customer")));
  await Deno.writeTextFile(seed, `${EVENT}\n`);
  const types = `${folder}/types.ts`;
  const dev = await startCli(["dev", spec, "--data", seed, "--types", types], { env });
  const state = async () => {
    const { code, stdout } = await runCli(["state", ORDER, "--json"], { env });
    return code === 0 ? JSON.parse(stdout) : undefined;
  };
  try {
    await until(() => dev.stderr().includes("Ctrl-C ends."), dev.stderr);
    assert.match(dev.stderr(), new RegExp(`test +http://127\\.0\\.0\\.1:${ports.first + 2}`));
    const [, key] = /API key +(dbk_0_test_\S+)/.exec(dev.stderr()) ?? [];
    assert.match(await Deno.readTextFile(types), /interface Types\b/);
    assert.match(dev.stderr(), /^Loaded 1 event from /m);
    assert.deepEqual((await state()).data, { customer: "Ada" });

    await Deno.writeTextFile(spec, JSON.stringify(specWith("Somebody")));
    await until(() => dev.stdout().includes("Deployed to test as version 2."), dev.stdout);
    assert.deepEqual((await state()).data, { customer: "Somebody" });

    await Deno.writeTextFile(seed, `${EVENT}\n${EVENT.replace("Ada", "Bob")}\n`);
    await until(() => /^Loaded 2 events from /m.test(dev.stderr()), dev.stderr);
    assert.equal((await state()).metadata.length, 2);
    const again = [...dev.stderr().matchAll(/API key +(\S+)/g)].map(([, each]) => each);
    assert.deepEqual(new Set(again), new Set([key]), "the key outlives the store");
    assert.match(await Deno.readTextFile(types), /customer\?: "Somebody"/);
    const headers = { authorization: `Bearer ${key}` };
    const url = `http://127.0.0.1:${ports.first + 2}/order/7KD2M9QXA`;
    const read = await fetch(url, { headers });
    assert.deepEqual((await read.json()).data, { customer: "Somebody" });

    assert.equal(await dev.interrupt(), 0);
    assert.deepEqual([...Deno.readDirSync(folder)].map(({ name }) => name).toSorted(), [
      "seed.jsonl",
      "spec.json",
      "types.ts",
    ]);
    const gone = await runCli(["state", ORDER], { env });
    assert.match(gone.stderr, /There is no server to call/);
  } finally {
    await dev.interrupt();
    ports.release();
    await Deno.remove(folder, { recursive: true });
  }
});

async function until(isSo: () => boolean, told: () => string): Promise<void> {
  const deadline = performance.now() + 60_000;
  while (!isSo()) {
    assert.ok(performance.now() < deadline, told());
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

Deno.test("parseSeed() completes events, and names the line of a fault", () => {
  const defaults = { actorType: "user", nowSeconds: 100 };
  const actor = { type: "user", id: "global" };
  const full = { key: ORDER, type: "a", data: { n: 1 }, metadata: { timestamp: 5, actor } };
  const short = { key: ORDER, type: "a" };
  const whole = { ...short, data: {}, metadata: { timestamp: 100, actor } };
  for (
    const text of [
      `[${JSON.stringify(full)},\n${JSON.stringify(short)}]`,
      `${JSON.stringify(full)}\n\n${JSON.stringify(short)}\n`,
    ]
  ) {
    assert.deepEqual(parseSeed("seed", text, defaults), { ok: true, events: [full, whole] });
  }
  const faults = [
    ['{"key"', /^seed:1: /],
    [`${JSON.stringify(full)}\n{`, /^seed:2: /],
    ["[1]", /^seed: event 1 is not an object/],
  ] as const;
  for (const [text, message] of faults) {
    const read = parseSeed("seed", text, defaults);
    assert.ok(!read.ok);
    assert.match(read.error, message);
  }
  const open = parseSeed("seed", JSON.stringify(short), { ...defaults, actorType: undefined });
  assert.ok(!open.ok && /needs metadata\.actor/.test(open.error));
});
