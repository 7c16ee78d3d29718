/** Erasures in the console: found, cancelled before they begin, and proven by their receipt. */

import assert from "node:assert/strict";
import { CUSTOMER } from "./shop/console_shop.ts";
import { consoleTests } from "./shop/open_page.ts";

const ERASED = "ERA5ED001";
const KEPT = "KEPT00001";
const HOSTILE = `<img src=x onerror=alert(1)> \u202e${"x".repeat(900)}`;

const test = consoleTests(async ({ admin, db }) => {
  for (const id of [ERASED, KEPT]) {
    await db.order!(id).was_placed!({ customer: CUSTOMER, total: 5 }).orThrow();
  }
  await admin.erasures.request({
    key: `order:${KEPT}`,
    reason: HOSTILE,
    grace_hours: 100,
  }).orThrow();
  const { tombstone } = await admin.erasures.request({
    key: `order:${ERASED}`,
    reason: "asked for by the person",
    legal_basis: "GDPR Article 17(1)(b)",
    grace_hours: 0,
  }).orThrow();
  while ((await admin.erasures.get(tombstone.id).orThrow()).tombstone.state !== "completed") {
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
});

test("An erasure is found by its stream, and its receipt verified step by step", async (console) => {
  const { page } = console;
  await console.go("/proof/erasures");
  const rows = page.getByRole("table", { name: "Erasures" }).locator("tbody tr");
  await rows.nth(1).waitFor();
  assert.equal(await rows.count(), 2);
  await console.picture("erasures");
  await console.checkAccess();

  // By keyboard alone, as people write the id.
  await page.getByLabel("Stream", { exact: true }).focus();
  await page.keyboard.type("no stream");
  await page.keyboard.press("Enter");
  await page.getByText("Write the type of the stream, a colon and its id").waitFor();
  await page.getByLabel("Stream", { exact: true }).fill(`order:${ERASED.toLowerCase()}`);
  await page.keyboard.press("Enter");
  await rows.nth(1).waitFor({ state: "detached" });
  assert.match(page.url(), /stream=order/);
  await page.getByRole("link", { name: "Verify" }).focus();
  await page.keyboard.press("Enter");

  await page.getByText("Pin the signing key first").waitFor();
  await page.getByRole("button", { name: /^Pin the key/ }).click();
  await page.getByText("Proven: this stream was erased as shown.").waitFor();
  const chips = page.getByRole("list", { name: "Steps" }).locator(".chip");
  assert.deepEqual(await chips.allTextContents(), Array(5).fill("holds"));
  await page.getByText("GDPR Article 17(1)(b)").first().waitFor();
  await console.picture("erasure_receipt");
  await console.checkAccess();
});

test("A receipt that was changed, or is of another request, proves nothing", async (console) => {
  const { page, shop } = console;
  const { data } = await shop.admin.erasures.listPage().orThrow();
  const { id, receipt } = data.find(({ key }) => key === `order:${ERASED}`)!;
  let change: object = { reason: "nobody asked" };
  await page.route(`**/_admin/tombstones/${id}*`, async (route) => {
    const response = await route.fetch();
    const { ok, tombstone } = await response.json();
    const json = { ok, tombstone: { ...tombstone, receipt: { ...receipt, ...change } } };
    await route.fulfill({ response, json });
  });
  await console.go(`/proof/erasures/${id}`);
  await page.getByRole("button", { name: /^Pin the key/ }).click();
  await page.getByText("Not proven").waitFor();
  const chips = page.getByRole("list", { name: "Steps" }).locator(".chip");
  assert.deepEqual(await chips.allTextContents(), [...Array(4).fill("holds"), "does not hold"]);
  change = { tombstone_id: "tmb_other" };
  await page.reload();
  await page.getByRole("alert").getByText("the receipt of another request").waitFor();
});

test("A request that has not begun is cancelled, and what it says is shown as text", async (console) => {
  const { page, shop } = console;
  await console.go("/proof/erasures?state=pending");
  const rows = page.getByRole("table", { name: "Erasures" }).locator("tbody tr");
  await rows.first().waitFor();
  assert.equal(await rows.count(), 1);
  await page.getByText("<img src=x onerror=alert(1)>").waitFor();
  await rows.getByRole("link").first().click();
  await page.getByText("Nothing has happened yet.").waitFor();
  assert.equal(await page.locator("main img").count(), 0);
  await page.getByRole("button", { name: "Cancel the request" }).click();
  await page.getByRole("button", { name: "Cancel the erasure" }).click();
  await page.getByText("The request was cancelled").waitFor();
  await console.checkAccess();
  const { data } = await shop.admin.erasures.listPage().orThrow();
  assert.equal(data.find(({ key }) => key === `order:${KEPT}`)!.state, "cancelled");
  assert.equal((await shop.db.order!(KEPT).get().orThrow()).data.total, 5);
});

test("An erasure is requested by keyboard, after the page has asked, and the server's refusal is shown", async (console) => {
  const { page, shop } = console;
  const id = "A5KED0001";
  await shop.db.order!(id).was_placed!({ customer: CUSTOMER, total: 5 }).orThrow();
  await console.go("/proof/erasures");
  await page.getByText("Request an erasure").click();
  await page.getByLabel("Stream to erase").focus();
  await page.keyboard.insertText(`order:${id.toLowerCase()}`);
  await page.keyboard.press("Enter");
  await page.getByText("Write why the stream is to be erased").waitFor();
  await page.keyboard.press("Tab");
  await page.keyboard.insertText("asked for by the person");
  await page.getByLabel("Hours until it begins").fill("48");
  await page.keyboard.press("Enter");
  const dialog = page.getByRole("dialog", { name: "Erase this stream?" });
  await dialog.getByText("48 hours").waitFor();
  await console.checkAccess();
  await dialog.getByRole("button", { name: "Leave it as it is" }).click();
  await page.locator("dialog").waitFor({ state: "detached" });
  const requests = async () =>
    (await shop.admin.erasures.listPage().orThrow()).data.filter(({ key }) => key.includes(id));
  assert.deepEqual(await requests(), []);

  await page.getByRole("button", { name: "Request it" }).focus();
  await page.keyboard.press("Enter");
  await dialog.getByRole("button", { name: "Request the erasure" }).focus();
  await page.keyboard.press("Enter");
  await page.getByText("Nothing has happened yet.").waitFor();
  const [request] = await requests();
  assert.equal(request!.key, `order:${id}`);
  assert.equal(request!.grace_hours, 48);
  assert.equal(request!.reason, "asked for by the person");
  assert.equal(request!.legal_basis, undefined);
  assert.equal(new URL(page.url()).hash.split("?")[0], `#/proof/erasures/${request!.id}`);

  // A stream has at most one open request.
  await console.go("/proof/erasures");
  await page.getByText("Request an erasure").click();
  await page.getByLabel("Stream to erase").fill(`order:${id}`);
  await page.getByLabel("Reason", { exact: true }).fill("again");
  await page.keyboard.press("Enter");
  await dialog.getByRole("button", { name: "Request the erasure" }).click();
  await dialog.getByRole("alert").waitFor();
  assert.equal((await requests()).length, 1);
});

test("With an API key, the page says who may list erasures", async (console) => {
  await console.go("/proof/erasures");
  await console.page.getByText("Erasures are listed for operators").waitFor();
  await console.checkAccess();
}, { as: "reader" });
