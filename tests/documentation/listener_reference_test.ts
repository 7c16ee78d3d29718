/**
 * Keeps docs/reference/listeners.md true: its declaration deploys, its delivery has the fields of
 * one, its programs verify our signatures and refuse changed bytes, its limits are the code's.
 */

import assert from "node:assert/strict";
import { END_STATES, RETRY_PAUSES_MS } from "../../src/domain/listener/delivery.ts";
import { encodePayload, signatureHeaders } from "../../src/domain/listener/webhook.ts";
import { limits } from "../../src/domain/limits.ts";
import { compileSpec } from "../../src/domain/spec/compile.ts";
import { fencedBlocks, readText, sectionOf, tableRows } from "./markdown.ts";

const REFERENCE = readText("docs/reference/listeners.md");
const plain = { schema: true, handler: [] };

function blocks(language: string) {
  return fencedBlocks(REFERENCE).filter((each) => each.language === language);
}

Deno.test("the declaration of the listeners' reference is accepted", () => {
  const { text } = blocks("json")[0]!;
  const result = compileSpec({
    agent_types: ["user"],
    aggregate_types: { order: { events: { was_placed: plain } }, customer: { events: {} } },
    modules: JSON.parse(text),
  });
  assert.ok(result.ok, JSON.stringify(result));
});

function signed() {
  const raw = '{"key":"order:x","type":"was_placed","data":{"a":"é"},"metadata":{"timestamp":1}}';
  const tenant = { instanceId: "ins_1", environment: "production", number: 1 } as const;
  const event = { id: "000000000000", hash: "00", raw, timestamp: 1_767_225_600 };
  const deliveryId = "dlv_1";
  const body = encodePayload({ deliveryId, listener: "billing", attempt: 1, tenant, event });
  const secret = "0123456789abcdef";
  const headers = signatureHeaders(body, { deliveryId, secret, sentMs: 0, prefix: "SVC" });
  return { body, secret, headers };
}

Deno.test("the delivery of the listeners' reference has the fields of one, in their order", () => {
  const { text } = blocks("json")[1]!;
  const shown = JSON.parse(text);
  const sent = JSON.parse(signed().body);
  assert.deepEqual(Object.keys(shown), Object.keys(sent));
  assert.deepEqual(Object.keys(shown.event), Object.keys(sent.event));
});

Deno.test("the program for Node verifies a signature, and refuses changed bytes", async () => {
  const { text } = blocks("js")[0]!;
  const source = `import { Buffer } from "node:buffer";\n${text}`;
  const { isAuthentic } = await import(`data:text/javascript,${encodeURIComponent(source)}`);
  const { body, secret, headers } = signed();
  const signature = headers["X-SVC-Signature"];
  const bytes = new TextEncoder().encode(body);
  assert.equal(isAuthentic(secret, bytes, signature), true);
  for (let at = 0; at < bytes.length; at++) {
    const changed = bytes.with(at, bytes[at]! ^ 1);
    assert.equal(isAuthentic(secret, changed, signature), false);
  }
  assert.equal(isAuthentic(secret, bytes, undefined), false, "a missing header is an error");
  assert.equal(isAuthentic("another secret..", bytes, signature), false);
});

const python = await hasPython();
if (!python) console.log("SKIPPED: the listeners' program for Python: there is no python3");

Deno.test({
  name: "the program for Python verifies a signature, and refuses changed bytes",
  ignore: !python,
  async fn() {
    const { text } = blocks("python")[0]!;
    const { body, secret, headers } = signed();
    const signature = headers["X-SVC-Signature"];
    const program = `${text}
import json, sys
given = json.load(sys.stdin)
body = given["body"].encode()
changed = bytes([body[0] ^ 1]) + body[1:]
print(is_authentic(given["secret"], body, given["signature"]),
      is_authentic(given["secret"], changed, given["signature"]),
      is_authentic(given["secret"], body, None))
`;
    const child = new Deno.Command("python3", {
      args: ["-c", program],
      stdin: "piped",
      stdout: "piped",
    }).spawn();
    const writer = child.stdin.getWriter();
    await writer.write(new TextEncoder().encode(JSON.stringify({ body, secret, signature })));
    await writer.close();
    const { stdout } = await child.output();
    assert.equal(new TextDecoder().decode(stdout).trim(), "True False False");
  },
});

async function hasPython(): Promise<boolean> {
  try {
    const asked = new Deno.Command("python3", { args: ["--version"], stdout: "null" });
    return (await asked.output()).success;
  } catch {
    return false;
  }
}

Deno.test("states, pauses and limits of the listeners' reference are those of the code", () => {
  const states = tableRows(sectionOf(REFERENCE, "## Answers and retries")).map(([state]) => state);
  assert.deepEqual(
    states.toSorted(),
    ["pending", ...END_STATES].map((each) => `\`${each}\``).sort(),
  );
  const [a, b, c] = RETRY_PAUSES_MS.map((each) => each / 1000);
  const prose = REFERENCE.replaceAll("\n", " ");
  assert.ok(prose.includes(`${a}, ${b} and ${c} seconds after its end`));
  const values = Object.fromEntries(
    tableRows(sectionOf(REFERENCE, "## Limits")).map(([name, value]) => [name, value]),
  );
  // One alone leaves as many free as it has, and those that are kept.
  const ofInstance = (limits.deliveriesUnderWayMax - limits.deliveriesKeptForOthers) / 2;
  assert.deepEqual(values, {
    "Listeners of a spec": String(limits.listenersMax),
    "Tries under way of one listener, of an instance, and of a process":
      `${limits.deliveriesPerListenerMax}, ${ofInstance}, ${limits.deliveriesUnderWayMax}`,
    "Deliveries that one call asks for again": limits.replayedAtOnceMax.toLocaleString("en"),
    "What a write stores, its deliveries included": `${
      limits.writeStoredBytesMax.toLocaleString("en")
    } bytes`,
  });
});
