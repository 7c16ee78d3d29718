/**
 * `verify.html` from a disk, in a browser without a network: its verdicts are those of the golden
 * vectors, which Python and OpenSSL made.
 */

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { type Browser, chromium, type Page } from "playwright-core";
import { buildConsole, isConsoleCurrent } from "../../scripts/console/build_files.ts";
import { verifyFile } from "../../scripts/console/verify_file.ts";
import bundles from "../golden/audit/bundles.json" with { type: "json" };
import receipts from "../golden/audit/receipts.json" with { type: "json" };
import { chooseFile, dropFile, dropText } from "./shop/give_file.ts";
import { checkAccess, CHROMIUM, takePicture } from "./shop/open_page.ts";

const FOLDER = "dist/console";
const KEY = receipts.public_key;
const OTHER_KEY = "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c";
/** The order of the steps, as docs/reference/audit.md has it. */
const BUNDLE_STEPS = [
  "key",
  "form",
  "event",
  "counts",
  "chain",
  "stream_proof",
  "instance_proof",
  "anchor",
  "signature",
];
const RECEIPT_STEPS = ["key", "form", "event", "anchor", "signature"];

const [sample] = bundles.valid.filter(({ name }) => name === "last of 70 events");
const bundle = sample!.bundle;

let browser: Browser;

Deno.test.beforeAll(async () => {
  if (!await isConsoleCurrent(FOLDER)) await buildConsole(FOLDER);
  if (CHROMIUM === undefined) {
    return console.log("SKIPPED: verify.html in a browser, for there is no Chromium");
  }
  browser = await chromium.launch({
    executablePath: CHROMIUM,
    args: ["--no-sandbox", "--disable-gpu", "--disable-background-networking"],
  });
});
Deno.test.afterAll(() => browser?.close());

function test(name: string, body: (page: Page) => Promise<void>): void {
  Deno.test({
    name,
    ignore: CHROMIUM === undefined,
    sanitizeOps: false,
    sanitizeResources: false,
    fn: () => withFile(body),
  });
}

/** Opens the file, and nothing but the file: any other request fails the test. */
async function withFile(body: (page: Page) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "daybook verify " });
  const context = await browser.newContext({ offline: true, reducedMotion: "reduce" });
  context.setDefaultTimeout(10_000);
  try {
    await Deno.copyFile(`${FOLDER}/verify.html`, `${folder}/verify.html`);
    const page = await context.newPage();
    const faults: string[] = [];
    page.on("pageerror", ({ message }) => faults.push(message));
    page.on("console", (message) => message.type() === "error" && faults.push(message.text()));
    const asked: string[] = [];
    page.on("request", (request) => asked.push(request.url()));
    const address = `file://${encodeURI(folder)}/verify.html`;
    await page.goto(address);
    await page.getByRole("heading", { name: "Verify evidence of Daybook" }).waitFor();
    await body(page);
    assert.deepEqual(faults, []);
    assert.deepEqual(asked, [address]);
    // Whatever code ran here, it could send nothing: this needs no network, and is refused.
    const sent = await page.evaluate("fetch('data:,x').then(() => 'sent', () => 'refused')");
    assert.equal(sent, "refused");
    assert.match(faults.join(), /Content Security Policy/);
  } finally {
    await context.close();
    await Deno.remove(folder, { recursive: true });
  }
}

let files = 0;

/** Gives a file; returns the step that does not hold, "" if all hold. */
async function verdictOn(page: Page, text: string): Promise<string> {
  const name = `evidence_${++files}.json`;
  await chooseFile(page, text, name);
  await page.getByText(`Read from ${name}.`).waitFor();
  const states = await page.getByRole("list", { name: "Steps" }).locator(".chip").allTextContents();
  const steps = states.length === RECEIPT_STEPS.length ? RECEIPT_STEPS : BUNDLE_STEPS;
  assert.equal(states.length, steps.length);
  const failed = states.indexOf("does not hold");
  const isProven = await page.getByText(/^Proven: /).count() === 1;
  assert.equal(isProven, failed === -1);
  assert.equal(await page.getByText("Not proven:").count(), failed === -1 ? 0 : 1);
  return failed === -1 ? "" : steps[failed]!;
}

test("bundles, receipts and what is neither get the verdict that others have given them", async (page) => {
  await page.getByLabel("Public key of the instance").fill(KEY);
  for (const { name, bundle } of bundles.valid) {
    assert.equal(await verdictOn(page, JSON.stringify(bundle)), "", name);
  }
  for (const { name, step, bundle } of bundles.refused) {
    assert.equal(await verdictOn(page, JSON.stringify(bundle)), step, name);
  }
  for (const { fields, signature } of receipts.receipts) {
    const receipt = { format: 1, scope: "erasure", ...fields, signature, public_key: KEY };
    assert.equal(await verdictOn(page, JSON.stringify({ ok: true, tombstone: { receipt } })), "");
    const changed = { ...receipt, event_count: receipt.event_count + 1 };
    assert.equal(await verdictOn(page, JSON.stringify(changed)), "signature");
    assert.equal(await verdictOn(page, JSON.stringify({ ...receipt, more: 1 })), "form");
  }
  for (
    const text of ["", "no JSON", "[]", "{}", "null", "<img src=x onerror=alert(1)>", "[".repeat(9)]
  ) {
    assert.equal(await verdictOn(page, text), "form", text);
  }
});

test("a bundle is dropped, the key pasted, and each step shows its values", async (page) => {
  await dropText(page, "");
  await page.getByText("Choose or drop a file").waitFor();
  await dropText(page, "{}");
  await page.getByText("Not proven:").waitFor();
  await dropFile(page, JSON.stringify(bundle));
  await page.getByText("No verdict yet: the public key is missing").waitFor();
  const key = page.getByLabel("Public key of the instance");
  await key.fill("no key");
  await page.getByText("A public key is 64 hex characters").waitFor();
  await key.fill(`${OTHER_KEY}, ${KEY.toUpperCase()}`);
  await page.getByText("Proven: this event was stored as shown.").waitFor();
  const states = await page.getByRole("list", { name: "Steps" }).locator(".chip").allTextContents();
  // Nobody has said which instance and environment are meant.
  assert.deepEqual(states, [...Array(7).fill("holds"), "not asked", "holds"]);
  const { event } = bundle;
  const hash = createHash("sha256").update(event.prev_hash + event.raw).digest("hex");
  await page.getByRole("button", { name: "Show all of the computed chain hash" }).click();
  await page.locator(".check", { hasText: "chain hash" }).getByText(hash, { exact: true })
    .waitFor();
  await takePicture(page, "verify_file");
  await checkAccess(page);

  await key.fill(OTHER_KEY);
  await page.getByText("Not proven:").waitFor();
  await page.getByText(`signed with ${KEY}`).waitFor();
  await takePicture(page, "verify_file_refused");
  await checkAccess(page);
});

test("by the keyboard alone, what is meant is named, and evidence of something else is refused", async (page) => {
  await page.keyboard.press("Tab");
  await page.keyboard.insertText(KEY);
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await page.keyboard.press("Tab");
  await page.keyboard.insertText("staging");
  const text = page.getByLabel("Text of the bundle or receipt");
  for (let tabs = 0; tabs < 20; tabs++) {
    if (await text.evaluate((element) => element === element.ownerDocument.activeElement)) break;
    await page.keyboard.press("Tab");
  }
  await page.keyboard.insertText(JSON.stringify(bundle));
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await page.getByText(`environment is ${bundle.anchor.environment}, expected was staging`)
    .waitFor();
  await page.getByLabel("Environment").fill(bundle.anchor.environment!);
  await page.getByText("Proven: this event was stored as shown.").waitFor();
  await page.getByLabel("Number of the event").fill(String(bundle.event.index + 1));
  await page.getByText("Not proven:").waitFor();
});

test("hostile data is shown as text, and no text stalls the page", async (page) => {
  await page.getByLabel("Public key of the instance").fill(KEY);
  const hostile = structuredClone(bundle);
  hostile.stream.key = `order:\u202e<script>alert(1)</script>${"x".repeat(1_000_000)}`;
  assert.equal(await verdictOn(page, JSON.stringify(hostile)), "event");
  assert.ok((await page.locator("main").innerText()).length < 20_000);
});

Deno.test("code that would end its element is no file at all", async () => {
  for (const code of ["'</script>'", "'</SCRIPT'", "'<!--'", "'</style>'"]) {
    await assert.rejects(verifyFile(code, ""), /ends the element/);
    await assert.rejects(verifyFile("", code), /ends the element/);
  }
});
