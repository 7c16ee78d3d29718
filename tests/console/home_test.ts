/** The console as a whole, and its first page; the documentation, which the same server has. */

import assert from "node:assert/strict";
import { areDocsCurrent, buildDocs } from "../../scripts/docs/build_site.ts";
import { consoleTests } from "./shop/open_page.ts";

const DOCS = "dist/docs";

const test = consoleTests(async () => {
  if (!await areDocsCurrent(DOCS)) await buildDocs(DOCS);
});

test("An operator's token in the address opens the console and leaves the address", async (console) => {
  const { page, shop } = console;
  await page.getByRole("link", { name: "order", exact: true }).waitFor();
  assert.ok(!page.url().includes(shop.token));
  assert.equal(await page.locator(".environment").textContent(), "test");
  // An address that is shared means the same instance to everybody.
  await page.waitForFunction((id) => location.hash.includes(`instance=${id}`), shop.instanceId);
  await console.picture("home");
  await console.checkAccess();
});

test("Nobody sees anything before signing in", async (console) => {
  const { page, shop } = console;
  await page.getByLabel("API key or operator token").fill(shop.readKey);
  await console.checkAccess();
  await page.getByRole("button", { name: "Open" }).click();
  await page.getByRole("link", { name: "order", exact: true }).waitFor();
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByLabel("API key or operator token").waitFor();
  assert.equal(await page.evaluate(() => sessionStorage.length), 0);
  await page.getByLabel("API key or operator token").fill(shop.token);
  await page.getByRole("button", { name: "Open" }).click();
  await page.waitForFunction((id) => location.hash.includes(`instance=${id}`), shop.instanceId);
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByLabel("API key or operator token").waitFor();
  assert.ok(!page.url().includes("instance="));
}, { as: "nobody" });

test("Another credential in the address begins another session, which the one before cannot end", async (console) => {
  const { page, shop } = console;
  // An answer to the token that comes after the token is used no more.
  const held = Promise.withResolvers<void>();
  await page.route("**/*", async (route) => {
    if (route.request().method() !== "POST") return await route.fallback();
    await held.promise;
    await route.fulfill({ status: 401, json: { ok: false, error: "unauthorized" } });
  });
  await console.go("/proof");
  const sent = page.waitForRequest((request) => request.method() === "POST");
  await page.getByRole("button", { name: "Make one now" }).click();
  await sent;
  await page.evaluate(`sessionStorage.setItem("daybook.spec_draft.x", "a draft");
    document.querySelector(".frame").dataset.mark = "the first session"`);
  await page.evaluate((hash) => location.hash = hash, `token=${shop.readKey}`);
  await page.getByRole("link", { name: "Instances" }).waitFor({ state: "detached" });
  await page.getByRole("link", { name: "order", exact: true }).waitFor();
  assert.equal(await page.locator("[data-mark]").count(), 0);
  assert.deepEqual(
    await page.evaluate(() => Object.entries(sessionStorage)),
    [["daybook.credentials", JSON.stringify({ key: shop.readKey })]],
  );
  const answered = page.waitForResponse((response) => response.status() === 401);
  held.resolve();
  await answered;
  await page.waitForTimeout(300);
  assert.equal(await page.getByText("no longer accepts").count(), 0);
  await page.getByRole("button", { name: "Sign out" }).waitFor();
});

test("A key that the server does not know gives a sentence that says so", async ({ page }) => {
  await page.getByLabel("API key or operator token").fill("dbk_0_test_nobodyKnowsIt");
  await page.getByRole("button", { name: "Open" }).click();
  await page.getByText("no longer accepts this token or key").waitFor();
}, { as: "nobody" });

test("Events appear as they come, and those of a pause appear after it", async (console) => {
  const { page, shop } = console;
  const feed = page.getByRole("list", { name: "Events as they came, newest first" });
  const note = (id: string) => shop.db.order!(id).was_noted!({}).orThrow();
  // What is written before the feed is open belongs to the past.
  for (let at = 1000; !await feed.isVisible(); at++) {
    await note(`F1RST${at}`);
    await page.waitForTimeout(100);
  }
  await feed.getByRole("link", { name: /order:F1RST1/ }).first().waitFor();
  await page.getByRole("button", { name: "Pause", exact: true }).click();
  await page.getByText("Paused.").waitFor();
  const paused = Array.from({ length: 9 }, (_, at) => `PAVSED00${at}`);
  for (const id of paused) await note(id);
  assert.equal(await feed.getByText(/PAVSED/).count(), 0);
  await page.getByRole("button", { name: "Go on" }).click();
  await feed.getByRole("link", { name: "order:PAVSED008" }).waitFor();
  assert.deepEqual(
    await feed.getByRole("link", { name: /PAVSED/ }).allTextContents(),
    paused.toReversed().map((id) => `order:${id}`),
  );
});

test("What could not be checked is not said to be right, and a projection far behind is told", async (console) => {
  const { page } = console;
  await page.getByText("Nothing is wrong.").waitFor();
  await page.route("**/_sagas?*", (route) =>
    route.fulfill({
      status: 403,
      json: { ok: false, error_type: "forbidden", error: "Not for you" },
    }));
  await page.route("**/projections?*", async (route) => {
    const response = await route.fetch();
    const answer = await response.json();
    answer.data[0].lag = 1_000;
    await route.fulfill({ response, json: answer });
  });
  await page.reload();
  await page.getByText("sagas: Not for you").waitFor();
  await page.getByText("The projection orders is 1,000 or more commits behind.").waitFor();
  assert.equal(await page.getByText("Nothing is wrong.").count(), 0);
  await console.checkAccess();
});

test("What is wrong comes first, with a link to where one acts", async (console) => {
  const { page, shop } = console;
  await page.getByText("Nothing is wrong.").waitFor();
  await shop.admin.reactions.pause().orThrow();
  await page.reload();
  await page.getByText("Reactions are paused.").waitFor();
  await console.picture("troubles");
  await console.checkAccess();
  await page.getByRole("link", { name: "Look at it" }).click();
  await page.getByRole("button", { name: "Resume" }).click();
  await page.getByRole("button", { name: "Pause", exact: true }).waitFor();
});

test("A deployment that was restored says what it waits for, and how to let it go on", async (console) => {
  const { page } = console;
  await page.route("**/_admin/reactions?*", async (route) => {
    const response = await route.fetch();
    const answer = await response.json();
    const paused = { paused: true, paused_by: "restore", paused_since: "2026-11-26T12:00:00.000Z" };
    await route.fulfill({ response, json: { ...answer, ...paused } });
  });
  await page.reload();
  await page.getByText(/was restored and waits\. .* after the command daybook resume\./).waitFor();
});

test("The documentation is searched from the keyboard, and looks right in light, dark and narrow", async (console) => {
  const { page, shop } = console;
  await page.goto(`${shop.base}/_docs/reference/writing.html`);
  await page.keyboard.press("/");
  await page.keyboard.type("idempotency in progress");
  const found = page.getByRole("option");
  await found.first().waitFor();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await page.waitForURL("**/_docs/errors/idempotency_in_progress.html");
  await page.getByRole("heading", { level: 1, name: "idempotency_in_progress" }).waitFor();
  await console.checkAccess();
  await page.goto(`${shop.base}/_docs/reference/writing.html`);
  await console.picture("docs");
  await console.checkAccess();
});

test(
  "An example of the documentation is sent when its button is pressed, with the key that was entered",
  async (console) => {
    const { page, shop } = console;
    const sent: string[] = [];
    page.on("request", (request) => sent.push(`${request.method()} ${request.url()}`));
    await page.goto(`${shop.base}/_docs/reference/writing.html`);
    await page.getByRole("button", { name: "Send…" }).first().click();
    await page.getByLabel("API key").fill(shop.readKey);
    await page.getByLabel("Path").fill("/order/AAAAAAAA1/was_placed");
    assert.ok(sent.every((request) => request.startsWith(`GET ${shop.base}/_docs/`)));
    await page.getByRole("button", { name: "Send POST" }).click();
    await page.getByText(/^403 /).waitFor();
    await page.getByText('"docs": "/_docs/errors/forbidden"').waitFor();
    assert.equal(sent.filter((request) => request.startsWith("POST ")).length, 1);
    assert.ok(sent.includes(`POST ${shop.base}/order/AAAAAAAA1/was_placed`));
    await page.getByLabel("Path").fill("//127.0.0.2:1/order");
    await page.getByRole("button", { name: "Send POST" }).click();
    await page.getByText(/^404 /).waitFor();
    assert.ok(sent.at(-1)!.startsWith(`POST ${shop.base}/`), "to no other origin");
    await console.checkAccess();
    await page.getByRole("button", { name: "Forget the key" }).click();
    assert.equal(await page.evaluate(() => sessionStorage.getItem("daybook.docs.key")), null);
  },
  { as: "nobody" },
);

test(
  "Without JavaScript the documentation can be read, and has no control that does nothing",
  async ({ page, shop }) => {
    const context = await page.context().browser()!.newContext({ javaScriptEnabled: false });
    try {
      const plain = await context.newPage();
      await plain.goto(`${shop.base}/_docs/reference/writing.html`);
      await plain.getByRole("heading", { level: 1, name: "Writing events" }).waitFor();
      assert.equal(await plain.getByRole("button").count(), 0);
      assert.equal(await plain.getByRole("searchbox").count(), 0);
      await plain.getByText("Errors", { exact: true }).first().click();
      await plain.getByRole("link", { name: "occ_conflict" }).first().click();
      await plain.getByRole("heading", { level: 1, name: "occ_conflict" }).waitFor();
    } finally {
      await context.close();
    }
  },
  { as: "nobody" },
);

test("A refusal in the console links to the page of its error_type, on the same server", async (console) => {
  const { page, shop } = console;
  await console.go("/streams/order/nowhere");
  const link = page.getByRole("link", { name: "identifier_invalid" }).first();
  await link.waitFor();
  const address = new URL((await link.getAttribute("href"))!, page.url()).href;
  assert.equal(address, `${shop.base}/_docs/errors/identifier_invalid`);
  await console.checkAccess();
  await page.goto(address);
  await page.getByRole("heading", { level: 1, name: "identifier_invalid" }).waitFor();
});
