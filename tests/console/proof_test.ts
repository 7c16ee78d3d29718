/** Proof in the console: a key is pinned, an event proven, and what was changed is refused. */

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { createClient } from "@daybook/client";
import { createAdmin } from "@daybook/client/admin";
import { ACTOR, CUSTOMER, ORDERS } from "./shop/console_shop.ts";
import { chooseFile, dropFile } from "./shop/give_file.ts";
import { consoleTests, type OpenConsole } from "./shop/open_page.ts";

const PROOF = `/proof/order/${ORDERS.paid}/0`;
const OTHER_KEY = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a";

const test = consoleTests(async ({ admin }) => {
  await admin.anchors.make().orThrow();
});

async function pin({ page }: OpenConsole): Promise<void> {
  await page.getByRole("button", { name: /^Pin the key/ }).first().click();
  await page.getByText("it came from this very server").waitFor();
}

/** An event that was changed does not hash to its hash. */
const CHANGED = [...Array(4).fill("holds"), "does not hold", ...Array(4).fill("not reached")];

/** The states of the steps, by what each shows. */
async function stepsOf({ page }: OpenConsole): Promise<string[]> {
  return await page.getByRole("list", { name: "Steps" }).locator(".chip").allTextContents();
}

test("Anchors are listed, and an operator makes one", async (console) => {
  const { page, shop } = console;
  await console.go("/proof");
  await page.getByRole("table", { name: "Anchors" }).waitFor();
  await shop.db.order!(ORDERS.open).was_noted!({}).orThrow();
  const before = (await shop.db.$audit.anchorsPage().orThrow()).data.length;
  await page.getByRole("button", { name: "Make one now" }).click();
  const rows = page.getByRole("table", { name: "Anchors" }).getByRole("row");
  await rows.nth(before + 1).waitFor();
  assert.equal((await shop.db.$audit.anchorsPage().orThrow()).data.length, before + 1);
  await console.picture("anchors");
  await console.checkAccess();
});

test("An event is proven in the page, by a key that was pinned before", async (console) => {
  const { page, shop } = console;
  await console.go(PROOF);
  await page.getByText("Pin the signing key first").waitFor();
  await pin(console);
  await page.getByText("Proven: this event was stored as shown.").waitFor();
  assert.deepEqual(await stepsOf(console), Array(9).fill("holds"));
  const loading = page.waitForEvent("download");
  await page.getByRole("button", { name: "Download the bundle" }).click();
  const stream = await (await loading).createReadStream();
  const text = await new Response(ReadableStream.from(stream)).text();
  const known = await shop.db.order!(ORDERS.paid).attestation(0).orThrow();
  assert.deepEqual(JSON.parse(text), JSON.parse(JSON.stringify(known)));
  await console.picture("proof");
  await console.checkAccess();
});

test("A key that was pinned from the server itself is marked, until it is typed from elsewhere", async (console) => {
  const { page, shop } = console;
  await console.go("/proof");
  await page.getByText("To pin a key is to have this browser remember it").waitFor();
  const marked = page.getByRole("table", { name: "Keys" }).getByText("from this server");
  assert.equal(await marked.count(), 0);
  await pin(console);
  assert.equal(await marked.count(), 1);
  await console.picture("proof_keys");
  await console.checkAccess();
  const { public_key } = await shop.db.$audit.signingKey().orThrow();
  await page.getByLabel("A key that you have from elsewhere").fill(public_key);
  await page.getByRole("button", { name: "Pin it" }).click();
  await page.getByText("The key that signs now is pinned in this browser.").waitFor();
  assert.equal(await marked.count(), 0);
  await page.reload();
  await page.getByText("The key that signs now is pinned in this browser.").waitFor();
});

test("An event that the server tells otherwise than it was stored is not proven", async (console) => {
  const { page, shop } = console;
  await page.route("**/audit/attestation/**", async (route) => {
    const response = await route.fetch();
    const text = (await response.text()).replace('\\"total\\":10', '\\"total\\":99');
    await route.fulfill({ response, body: text });
  });
  await console.go(PROOF);
  await pin(console);
  await page.getByText("Not proven").waitFor();
  assert.deepEqual(await stepsOf(console), CHANGED);
  // The step shows both hashes, shortened; all of the one that was computed on demand.
  const { event } = await shop.db.order!(ORDERS.paid).attestation(0).orThrow() as unknown as {
    event: { raw: string; hash: string };
  };
  const raw = event.raw.replace('"total":10', '"total":99');
  const hash = createHash("sha256").update(raw).digest("hex");
  const chain = page.locator(".check", { hasText: "chain hash" });
  await chain.getByText(`${hash.slice(0, 16)}…`).waitFor();
  await chain.getByText(`${event.hash.slice(0, 16)}…`).waitFor();
  await page.getByRole("button", { name: "Show all of the computed chain hash" }).click();
  await chain.getByText(hash, { exact: true }).waitFor();
});

test("A key from elsewhere is pinned and removed by keyboard, and proves nothing it has not signed", async (console) => {
  const { page } = console;
  await console.go(PROOF);
  const field = page.getByLabel("A key that you have from elsewhere");
  await field.focus();
  await page.keyboard.type("no key");
  await page.keyboard.press("Enter");
  await page.getByText("A public key is 64 hex characters").waitFor();
  await field.fill(OTHER_KEY.toUpperCase());
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await page.getByRole("alert").getByText("another key than the pinned ones").waitFor();
  await page.getByText("Not proven").waitFor();
  assert.deepEqual(await stepsOf(console), [...Array(8).fill("holds"), "does not hold"]);
  await console.checkAccess();
  // Both keys are kept: the one that signs proves the event beside the other.
  await pin(console);
  await page.getByText("Proven: this event was stored as shown.").waitFor();
  await page.reload();
  await page.getByText("Proven: this event was stored as shown.").waitFor();
  const removal = page.getByRole("button", { name: `Remove the pin of ${OTHER_KEY.slice(0, 8)}` });
  await removal.focus();
  await page.keyboard.press("Enter");
  await removal.waitFor({ state: "detached" });
  await page.getByText("Proven: this event was stored as shown.").waitFor();
});

test(
  "With an API key, a pin is of the instance that the server names, and of no other",
  async (console) => {
    const { page } = console;
    await console.go(PROOF);
    await pin(console);
    await page.getByText("Proven: this event was stored as shown.").waitFor();
    await page.route("**/_audit/signing-key*", async (route) => {
      const response = await route.fetch();
      const answer = { ...await response.json(), instance_id: crypto.randomUUID() };
      await route.fulfill({ response, json: answer });
    });
    await page.reload();
    await page.getByText("Pin the signing key first").waitFor();
    await pin(console);
    await page.getByText(/Not proven.*instance_id/).waitFor();
  },
  { as: "reader" },
);

test("An event behind the last anchor is proven by an anchor that is made for it", async (console) => {
  const { page, shop } = console;
  await shop.db.order!("F0110WED1").was_noted!({}).orThrow();
  await console.go("/proof/order/F0110WED1/0");
  await page.getByRole("button", { name: "Make an anchor now, and prove it" }).click();
  await page.getByText("Give it to an auditor with").waitFor();
  await pin(console);
  await page.getByText("Proven: this event was stored as shown.").waitFor();
});

test("An event is asked for as people write it, and what is missing is said", async (console) => {
  const { page } = console;
  await console.go("/proof");
  const stream = page.getByLabel("Stream", { exact: true });
  await stream.fill("order");
  await page.keyboard.press("Enter");
  await page.getByText("Write the type of the stream, a colon and its id").waitFor();
  await console.checkAccess();
  // O stands for 0 and l for 1, in any case.
  await stream.fill(`order:${ORDERS.declined.toLowerCase().replaceAll("1", "l")}`);
  await page.keyboard.press("Enter");
  await pin(console);
  await page.getByText("Proven: this event was stored as shown.").waitFor();
  await page.getByRole("heading", { name: `Event 0 of order:${ORDERS.declined}` }).waitFor();
  assert.equal(
    await stream.inputValue(),
    `order:${ORDERS.declined.toLowerCase().replaceAll("1", "l")}`,
  );
  await page.goBack();
  await page.getByRole("table", { name: "Anchors" }).waitFor();
  assert.equal(await stream.inputValue(), "");
});

test(
  "Evidence that somebody has is pasted, chosen or dropped, and the server is not asked",
  async (console) => {
    const { page, shop } = console;
    const bundle = JSON.stringify(await shop.db.order!(ORDERS.paid).attestation(0).orThrow());
    const { public_key } = await shop.db.$audit.signingKey().orThrow();
    await console.go("/proof/evidence");
    await page.getByRole("heading", { name: "Evidence that you have" }).waitFor();
    await page.waitForLoadState("networkidle");
    const asked: string[] = [];
    page.on("request", (request) => asked.push(request.url()));

    // By keyboard alone: paste, verify, pin the key that is missing.
    await page.getByLabel("Text of the bundle or receipt").focus();
    await page.keyboard.insertText(bundle);
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await page.getByText("No key of this instance and environment is pinned").waitFor();
    const pinField = page.getByLabel("A key that you have from elsewhere");
    await pinField.focus();
    await page.keyboard.insertText("00".repeat(32));
    await page.keyboard.press("Enter");
    await page.getByText("It is no point of the curve, or anybody can sign for it").waitFor();
    // A pin that proves nothing is joined by another, and removed.
    await pinField.fill(OTHER_KEY);
    await page.keyboard.press("Enter");
    await page.getByText("Not proven").waitFor();
    await pinField.fill(public_key);
    await page.keyboard.press("Enter");
    await page.getByText("Proven: this event was stored as shown.").waitFor();
    assert.deepEqual(await stepsOf(console), Array(9).fill("holds"));
    await page.getByRole("button", { name: `Remove the pin of ${OTHER_KEY.slice(0, 8)}` }).click();
    await page.getByText("Proven: this event was stored as shown.").waitFor();
    assert.equal(await page.getByRole("button", { name: /^Remove the pin/ }).count(), 1);
    await console.picture("proof_evidence");
    await console.checkAccess();

    const changed = bundle.replace('\\"total\\":10', '\\"total\\":99');
    await chooseFile(page, changed);
    await page.getByText("Not proven").waitFor();
    assert.deepEqual(await stepsOf(console), CHANGED);

    await dropFile(page, bundle);
    await page.getByText("Proven: this event was stored as shown.").waitFor();

    // A hostile file: no JSON, and a text that no page should have to draw as a whole.
    await chooseFile(page, "<script>alert(1)</script>");
    await page.getByText("the document is not JSON in UTF-8").waitFor();
    const huge = JSON.parse(bundle);
    huge.stream.key = `order:\u202e${"x".repeat(1_000_000)}<b>`;
    await chooseFile(page, JSON.stringify(huge));
    await page.getByText("Not proven").waitFor();
    await page.getByRole("button", { name: "Show more of the expected stream" }).waitFor();
    assert.ok((await page.locator("main").innerText()).length < 20_000);
    assert.deepEqual(asked, []);

    const loading = page.waitForEvent("download");
    await page.getByRole("link", { name: "Download verify.html" }).click();
    const download = await loading;
    assert.equal(download.suggestedFilename(), "verify.html");
    const stream = ReadableStream.from(await download.createReadStream());
    const built = await Deno.readTextFile("dist/console/verify.html");
    assert.equal(await new Response(stream).text(), built);
  },
  { as: "reader" },
);

test("What another environment has anchored proves nothing here, though the same key signed it", async (console) => {
  const { page, shop } = console;
  const { server, admin, instanceId } = shop;
  const { spec } = await admin.specs.current().orThrow();
  await admin.deploy(spec, { environment: "staging" }).orThrow();
  const url = server.baseUrls.staging;
  const staging = createClient({ url, key: server.credentials.keys.staging.write, actor: ACTOR });
  await staging.order!(ORDERS.paid).was_placed!({ customer: CUSTOMER, total: 99 }).orThrow();
  await createAdmin({ url, token: shop.token, instanceId }).anchors.make().orThrow();
  const forged = await staging.order!(ORDERS.paid).attestation(0).orThrow();
  await page.route("**/audit/attestation/**", (route) => route.fulfill({ json: forged }));
  await console.go(PROOF);
  await pin(console);
  await page.getByText(/Not proven.*staging/).waitFor();
  const seen = await stepsOf(console);
  assert.deepEqual(seen, [...Array(7).fill("holds"), "does not hold", "not reached"]);
});

test("An event that no anchor covers says so", async (console) => {
  const { page, shop } = console;
  await shop.db.order!("NEW000001").was_noted!({}).orThrow();
  await console.go("/proof/order/NEW000001/0");
  await page.getByText("beyond_anchor_coverage").waitFor();
});

// The last test, because later anchors are signed with the new key.
test("After a new signing key, older evidence is proven by the older pin", async (console) => {
  const { page, shop } = console;
  await console.go(PROOF);
  await pin(console);
  await page.getByText("Proven: this event was stored as shown.").waitFor();
  await shop.admin.anchors.newSigningKey().orThrow();
  await page.reload();
  await page.getByRole("alert").getByText("another key than the pinned ones").waitFor();
  await page.getByText("Proven: this event was stored as shown.").waitFor();
  await page.getByRole("cell", { name: "in the past" }).waitFor();
  await pin(console);
  assert.equal(await page.getByRole("button", { name: /^Remove the pin/ }).count(), 2);
});
