/** The workbench: an edited handler beside the deployed one, and a drafted schema. */

import assert from "node:assert/strict";
import { CUSTOMER, ORDERS } from "./shop/console_shop.ts";
import { consoleTests } from "./shop/open_page.ts";

const HOSTILE = "0R1SE0001";
const LONG = "10NG00001";
const SCRIPT = `<img src=x onerror="globalThis.wasRun = true">`;
const WIDE = "W1DE00001";
const LONG_EVENTS = 3_000;
/** Between two frames, while the page folds a long stream again and again. */
const FRAME_MS_MAX = 300;

const test = consoleTests(async ({ db }) => {
  const hostile = JSON.parse(`{"__proto__": {"a": 1}, "\u202ertl": ${JSON.stringify(SCRIPT)}}`);
  const notes = [hostile, { long: "x".repeat(90_000) }];
  await db.order!(HOSTILE).batch(notes.map((data) => ({ type: "was_noted", data }))).orThrow();
  for (const group of ["a", "b"]) {
    await db.payment!(WIDE).was_requested!(groupsOf(group)).orThrow();
  }
  await db.payment!(WIDE).was_captured!({ a_7: { key_1: 0 } }).orThrow();
  for (let at = 0; at < LONG_EVENTS; at += 500) {
    const events = Array.from({ length: 500 }, (_, index) => ({
      type: "was_noted",
      data: { number: at + index },
    }));
    await db.order!(LONG).batch(events).orThrow();
  }
});

/** Fifty members with a hundred each. */
function groupsOf(name: string) {
  const members = Object.fromEntries(Array.from({ length: 100 }, (_, at) => [`key_${at}`, at]));
  return Object.fromEntries(Array.from({ length: 50 }, (_, at) => [`${name}_${at}`, members]));
}

test("A handler is edited by the keyboard, and the states of a stream are compared", async (console) => {
  const { page, shop } = console;
  await console.go("/workbench/order/was_declined");
  await page.getByText("Choose a stream").waitFor();
  await page.getByLabel("Id of a stream").focus();
  await page.keyboard.type(ORDERS.declined);
  await page.keyboard.press("Enter");
  await page.getByText("Both handlers give the same states, at each of 2 lengths.").waitFor();
  const editor = page.getByLabel("Handler of order.was_declined");
  await editor.focus();
  await page.keyboard.press("Control+A");
  await page.keyboard.type('[{"sett": {}}]');
  await page.getByText('There is no operation "sett"').waitFor();
  assert.match((await page.getByRole("alert").textContent())!, /handler\[0\]\.sett/);
  await editor.focus();
  await page.keyboard.press("Control+A");
  await page.keyboard.type('[{"set": {"target": "status", "value": "refused"}}]');
  await page.getByText("The states first differ after 2 of 2 events").waitFor();
  await page.getByText("After 2 of 2 events, 2 fields differ").waitFor();
  const deployed = page.getByRole("region", { name: "Deployed handler" });
  const edited = page.getByRole("region", { name: "Edited handler" });
  await deployed.getByText('"declined"', { exact: true }).waitFor();
  await edited.getByText('"refused"', { exact: true }).waitFor();
  assert.equal(await deployed.locator(".changed").count(), 2);
  assert.equal(await edited.locator(".changed").count(), 1);
  await console.picture("workbench");
  await console.checkAccess();
  await page.getByRole("slider").focus();
  await page.keyboard.press("ArrowLeft");
  await page.getByText("After 1 of 2 events, 0 fields differ").waitFor();
  // The address may follow a slider a little later.
  await page.waitForURL(/length=1/);
  await page.getByRole("button", { name: "Show it" }).click();
  await page.getByText("After 2 of 2 events, 2 fields differ").waitFor();
  // Nothing was written or deployed.
  const { version } = await shop.admin.specs.current().orThrow();
  assert.equal(version, 1);
  await page.getByRole("button", { name: "Copy this change into the spec draft" }).click();
  await page.getByLabel("Spec as JSON").waitFor();
  const draft = await page.evaluate<string>(KEPT_DRAFT);
  assert.deepEqual(JSON.parse(draft).aggregate_types.order.events.was_declined.handler, [
    { set: { target: "status", value: "refused" } },
  ]);
  await page.goBack();
  await page.reload();
  await page.getByText("After 2 of 2 events, 2 fields differ").waitFor();
  await page.getByRole("button", { name: "Discard the change" }).click();
  await page.getByText("Both handlers give the same states").waitFor();
});

test("A changed handler stays in the tab until it is discarded, and the page leads back to it", async (console) => {
  const { page } = console;
  const EDITED = '[{"set": {"target": "status", "value": "paid up"}}]';
  await console.go("/workbench/order/was_paid");
  const editor = page.getByLabel("Handler of order.was_paid");
  const deployed = await editor.inputValue();
  const discard = page.getByRole("button", { name: "Discard the change" });
  assert.equal(await discard.count(), 0);
  await editor.fill(EDITED);
  await discard.waitFor();
  await console.go("/spec");
  await page.getByRole("heading", { name: "Spec" }).first().waitFor();
  // By the menu, which names no handler.
  await console.go("/workbench");
  await page.getByLabel("Handler of order.was_placed").waitFor();
  await page.getByRole("link", { name: "order.was_paid" }).click();
  assert.equal(await editor.inputValue(), EDITED);
  await page.getByText("The change stays in this tab").waitFor();
  await console.checkAccess();
  await editor.fill('[{"set": {"target": "n", "value": 12345678901234567890}}]');
  const copy = page.getByRole("button", { name: "Copy this change into the spec draft" });
  await copy.click();
  await page.getByRole("alert").getByText("the nearest is 12345678901234567000").waitFor();
  await editor.fill(" ".repeat(100_001));
  await page.getByText("This text is too long to stay in the tab").waitFor();
  await discard.click();
  assert.equal(await editor.inputValue(), deployed);
  await discard.waitFor({ state: "detached" });
  await page.reload();
  await editor.waitFor();
  assert.equal(await editor.inputValue(), deployed);
});

test("A changed handler is tried on the last streams that have the event, and each leads to its states", async (console) => {
  const { page, shop } = console;
  const paid = Array.from({ length: 21 }, (_, at) => `PA1D${String(at).padStart(5, "A")}`);
  for (const [at, id] of paid.entries()) {
    await shop.db.order!(id).was_placed!({ customer: CUSTOMER, total: 1 }).orThrow();
    await shop.db.order!(id).was_paid!({ amount: at }).orThrow();
  }
  await console.go("/workbench/order/was_paid");
  const editor = page.getByLabel("Handler of order.was_paid");
  const button = page.getByRole("button", { name: "Try it on the last 20 streams" });
  await editor.waitFor();
  assert.equal(await button.isDisabled(), true);
  // Amounts of 15 and more are kept in a member of their own: those of the last six streams.
  const deployed = JSON.parse(await editor.inputValue());
  const large = {
    if: { gte: ["$.data.amount", 15] },
    then: { set: { target: "large", value: true } },
  };
  await editor.fill(JSON.stringify([...deployed, large]));
  await button.click();
  await page.getByText("The states of 6 of 20 streams differ.").waitFor();
  const rows = page.getByRole("table", { name: "Streams that were tried" }).getByRole("row");
  const texts = (await rows.allInnerTexts()).slice(1);
  assert.deepEqual(texts.map((text) => text.split("\t")[0]!.trim()), paid.slice(1).reverse());
  assert.equal(texts.filter((text) => text.includes("same")).length, 14);
  assert.match(texts[0]!, /differ since event 1, at the end in 1 field/);
  await console.picture("workbench_streams");
  await console.checkAccess();
  await page.getByRole("link", { name: paid[20] }).click();
  await page.getByText("After 2 of 2 events, 1 field differs").waitFor();
  await editor.fill("[{");
  await page.getByText("The handler has changed since. Try it again.").waitFor();
  await button.click();
  await page.getByText("This is not a handler yet.").first().waitFor();
  await page.getByRole("button", { name: "Discard the change" }).click();
});

test("A schema is drafted from recent events, and what they hold is shown as text", async (console) => {
  const { page } = console;
  await console.go(`/workbench/order/was_noted?stream=${HOSTILE}`);
  await page.getByRole("region", { name: "Edited handler" }).getByText("onerror").waitFor();
  await page.getByRole("button", { name: "Draft it from recent events" }).click();
  const drafted = page.getByLabel("Drafted schema");
  await drafted.waitFor();
  await page.getByText(/^Drafted from \d+ events in \d+ streams/).waitFor();
  const schema = JSON.parse((await drafted.textContent())!);
  assert.deepEqual(schema.properties.number, { type: "integer" });
  assert.deepEqual(schema.properties.long, { type: "string" });
  assert.equal(await page.evaluate("globalThis.wasRun"), undefined);
  assert.equal(await page.locator("main img").count(), 0);
  await console.checkAccess();
  await page.getByLabel("Id of a stream").fill("N0NE00001");
  await page.getByRole("button", { name: "Fold it" }).click();
  await page.getByText("order has no stream with this id.").waitFor();
});

test("Of a state of ten thousand keys as many are drawn as can be read, and what differs is listed", async (console) => {
  const { page } = console;
  await console.go(`/workbench/payment/was_captured?stream=${WIDE}`);
  await page.getByText("Both handlers give the same states, at each of 3 lengths.").waitFor();
  const edited = page.getByRole("region", { name: "Edited handler" });
  await edited.getByText("b_49", { exact: true }).waitFor();
  // The hundred groups of each state, and of what they hold only the one key of the last event.
  assert.equal(await page.locator(".json summary").count(), 2 * 101);
  assert.equal(await page.locator(".json-line").count(), 2);
  await edited.getByText("b_49", { exact: true }).click();
  await edited.getByText("key_99", { exact: true }).waitFor();
  assert.equal(await page.locator(".json-line").count(), 102);
  await page.getByLabel("Handler of payment.was_captured").fill(
    '{"merge_at": {"target": "a_7", "key": "key_1", "value": "$.data.a_7"}}',
  );
  await page.getByText("The states first differ after 3 of 3 events").waitFor();
  const differs = page.getByRole("region", { name: "What differs" });
  // The deployed handler puts the one key in the place of the hundred.
  await differs.getByText("a_7.key_2", { exact: true }).waitFor();
  await differs.getByText("nothing → 2", { exact: true }).waitFor();
  assert.equal(await differs.getByRole("listitem").count(), 100);
  await console.checkAccess();
  await page.getByRole("button", { name: "Discard the change" }).click();
});

test("The page goes on drawing while a long stream is folded at each pause of typing", async (console) => {
  const { page } = console;
  await console.go(`/workbench/order/was_noted?stream=${LONG}`);
  await page.getByText(`at each of ${LONG_EVENTS} lengths`).waitFor();
  await page.evaluate(WATCH_FRAMES);
  const editor = page.getByLabel("Handler of order.was_noted");
  for (const value of [1, 2, 3]) {
    await editor.fill(`{"append": {"target": "notes", "value": "$.data"}}${" ".repeat(value)}`);
    await page.waitForTimeout(300);
  }
  await editor.fill('{"set": {"target": "last", "value": "$.data.number"}}');
  await page.getByText(`The states first differ after 1 of ${LONG_EVENTS} events`).waitFor();
  const longest = await page.evaluate<number>("globalThis.longestFrame");
  globalThis.console.log(`longest time between two frames: ${Math.round(longest)} ms`);
  assert.ok(longest < FRAME_MS_MAX, `${longest} ms between two frames`);
});

/** Run in the page. What the editor of the spec begins with. */
const KEPT_DRAFT =
  `Object.entries(sessionStorage).find(([name]) => name.startsWith("daybook.spec_draft."))[1]`;

/** Run in the page. Notes the longest time between two frames. */
const WATCH_FRAMES = `
  globalThis.longestFrame = 0;
  let last = performance.now();
  requestAnimationFrame(function next(now) {
    globalThis.longestFrame = Math.max(globalThis.longestFrame, now - last);
    last = now;
    requestAnimationFrame(next);
  });
`;

test("A key sees that the page is for operators", async (console) => {
  const { page } = console;
  await console.go("/workbench");
  await page.getByRole("heading", { name: "For operators" }).waitFor();
}, { as: "writer" });

test("Edited guards say which of the newest events of a stream they would refuse", async (console) => {
  const { page } = console;
  await console.go(`/workbench/order/was_declined?stream=${ORDERS.declined}`);
  await page.getByText("No guard would fail for the 1 of was_declined").waitFor();
  const editor = page.getByLabel("Guards of order.was_declined");
  await editor.fill('[{"require": {"exists": "@.never"}, "message": "It never was"}]');
  await page.getByText("1 of 1 of was_declined").waitFor();
  await page.getByText("It never was").last().waitFor();
  await editor.fill('[{"require": {"exsts": "@.never"}, "message": "It never was"}]');
  await page.getByText('There is no predicate "exsts"').waitFor();
});
