/** Instances in the console: tiers, usage, API keys that are shown once, and imports. */

import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { createClient } from "@daybook/client";
import { ACTOR } from "./shop/console_shop.ts";
import { consoleTests, type OpenConsole } from "./shop/open_page.ts";

const HOSTILE = `<img src=x onerror="globalThis.wasRun=true">`;
const IMPORTED = "0RDER1999";

const test = consoleTests(async ({ db }) => {
  await db.stock!("main").was_reserved!({}).orThrow();
});

/** Creates a key in the page and gives the text that it shows. */
async function createKey({ page }: OpenConsole, name: string): Promise<string> {
  await page.getByLabel("Name of the new key").fill(name);
  await page.getByLabel("It may").selectOption("write");
  // Pressed twice, it creates one.
  await page.getByRole("button", { name: /^Create a key for/ }).dblclick();
  const text = page.locator("code").filter({ hasText: /^dbk_/ });
  await text.waitFor();
  return await text.textContent() as string;
}

/** The status of a write with the key, in the test environment. */
async function statusOf({ shop }: OpenConsole, key: string): Promise<number> {
  const db = createClient({ url: shop.base, key, actor: ACTOR, retries: 0 });
  const answer = await db.stock!("global").was_reserved!({});
  return answer.ok ? 201 : answer.status;
}

test("A key is shown once, copied, used, and revoked after a question", async (console) => {
  const { page } = console;
  await console.go("/instances");
  const key = await createKey(console, HOSTILE);
  await page.getByRole("button", { name: "Copy the key" }).click();
  await page.getByText("Copied").waitFor();
  await page.getByRole("button", { name: "Write with it in this tab" }).click();
  await page.getByText("This tab writes with it.").waitFor();
  assert.equal(await page.evaluate<string>("navigator.clipboard.readText()"), key);
  assert.equal(await statusOf(console, key), 201);
  await console.picture("instances");
  await console.checkAccess();
  await page.reload();
  const row = page.getByRole("row").filter({ hasText: HOSTILE });
  await row.waitFor();
  assert.ok(!(await page.content()).includes(key));
  assert.equal(await page.evaluate("globalThis.wasRun"), undefined);

  const revoke = row.getByRole("button", { name: "Revoke" });
  await revoke.click();
  await page.getByRole("button", { name: "Leave it as it is" }).click();
  await page.getByRole("dialog").waitFor({ state: "hidden" });
  assert.equal(await statusOf(console, key), 201);
  await revoke.click();
  await console.checkAccess();
  await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
  await row.waitFor({ state: "detached" });
  assert.equal(await statusOf(console, key), 401);
});

test("By the keyboard alone, a key is created, rotated, and its end is set", async (console) => {
  const { page } = console;
  await console.go("/instances");
  await page.getByLabel("Name of the new key").focus();
  await page.keyboard.type("robot");
  await page.keyboard.press("Tab");
  await page.keyboard.press("r");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  const text = page.locator("code").filter({ hasText: /^dbk_/ });
  await text.waitFor();
  const old = await text.textContent() as string;
  await page.getByRole("button", { name: "Rotate robot" }).press("Enter");
  await page.getByRole("dialog").getByRole("button", { name: "Rotate" }).press("Enter");
  await page.getByRole("dialog").waitFor({ state: "hidden" });
  const rotated = await text.textContent() as string;
  assert.notEqual(rotated, old);
  assert.equal(await statusOf(console, old), 401);
  assert.equal(await statusOf(console, rotated), 201);
  // Focus is back where it was.
  await page.locator("*:focus").and(page.getByRole("button", { name: "Rotate robot" })).waitFor();
  await page.getByRole("button", { name: "End later robot" }).press("Enter");
  await page.getByLabel("Ends at (UTC)").fill("tomorrow");
  await page.keyboard.press("Enter");
  await page.getByText("revoke_at must be an ISO 8601 UTC time").waitFor();
  await page.getByLabel("Ends at (UTC)").fill("2099-01-31T12:00:00Z");
  await page.keyboard.press("Enter");
  const row = page.getByRole("row").filter({ hasText: "robot" });
  await row.locator('time[datetime="2099-01-31T12:00:00.000Z"]').waitFor();
});

test("What ends something in production asks for its name", async (console) => {
  const { page, shop } = console;
  await console.go("/instances?environment=production");
  await createKey(console, "live");
  await page.getByRole("button", { name: "Revoke live" }).click();
  const confirm = page.getByRole("dialog").getByRole("button", { name: "Revoke" });
  assert.ok(await confirm.isDisabled());
  const name = page.getByLabel("Type the name of the environment, production");
  await name.fill("test");
  assert.ok(await confirm.isDisabled());
  await name.fill("production");
  await confirm.click();
  await page.getByRole("button", { name: "Revoke live" }).waitFor({ state: "detached" });
  const { data } = await shop.admin.keys.listPage({ environment: "production" }).orThrow();
  assert.ok(data.every((key) => key.name !== "live"));
});

test("An instance is created with a tier, and its usage stands against the limit", async (console) => {
  const { page, shop } = console;
  await console.go("/instances");
  await page.getByText("New instance").click();
  const form = page.getByRole("form", { name: "New instance" });
  await form.getByLabel("Name").fill("Not a slug");
  await form.getByLabel("Tier").selectOption("free");
  await form.getByRole("button", { name: "Create" }).click();
  await page.getByRole("alert").first().waitFor();
  await form.getByLabel("Name").fill("second");
  await form.getByRole("button", { name: "Create" }).click();
  const card = page.getByRole("region", { name: "Instance second" });
  await card.waitFor();
  const { limit } = await usageOf(shop, "second");
  await card.getByText(`0 of ${limit!.toLocaleString("en")} events`).first().waitFor();
  await card.getByLabel("Tier").selectOption("unlimited");
  await card.getByRole("button", { name: "Change the tier" }).click();
  await page.getByLabel("Type the name of the environment, production").fill("production");
  await console.checkAccess();
  await page.getByRole("dialog").getByRole("button", { name: "Change the tier" }).click();
  await card.getByText("0 events, no limit").first().waitFor();
  assert.equal((await usageOf(shop, "second")).tier, "unlimited");
  await console.picture("instance_second");
});

async function usageOf(shop: OpenConsole["shop"], slug: string) {
  for await (const instance of shop.admin.instances.list()) {
    if (instance.slug !== slug) continue;
    const path = `/api/instances/${instance.id}/usage`;
    return await shop.admin.request<{ ok: true; limit: number | null; tier: string }>({ path })
      .orThrow();
  }
  throw new Error(`there is no instance ${slug}`);
}

function lineOf(data: object): string {
  const metadata = { actor: ACTOR, timestamp: 915148800 };
  return JSON.stringify({ key: `order:${IMPORTED}`, type: "was_paid", data, metadata });
}

test("A file is imported, its progress is shown, and a bad line is named", async (console) => {
  const { page, shop } = console;
  await console.go(`/instances?view=imports&instance=${shop.instanceId}`);
  await page.getByRole("heading", { name: "No imports into test" }).waitFor();
  await page.getByText("Import a file").click();
  async function send(name: string, lines: readonly string[]): Promise<void> {
    const buffer = Buffer.from(lines.join("\n"));
    await page.getByLabel(/^File with one event/).setInputFiles({
      name,
      mimeType: "application/x-ndjson",
      buffer,
    });
    await page.getByRole("button", { name: "Import into test" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Import" }).click();
  }
  await send("orders 1999.jsonl", [lineOf({ amount: 1 }), lineOf({ amount: 2 })]);
  await page.getByText("2 events were stored.").waitFor();
  const row = page.getByRole("row").filter({ hasText: "orders-1999.jsonl" });
  await row.getByText("complete").waitFor();
  await row.getByText("2 events of 2 lines").waitFor();
  assert.equal((await shop.db.order!(IMPORTED).length().orThrow()).length, 2);
  await send("bad.jsonl", [lineOf({ amount: 3 }), lineOf({ amount: "much" })]);
  await page.getByText("Line 2 of the file was refused").waitFor();
  await page.getByRole("row").filter({ hasText: "bad.jsonl" }).getByText("running").waitFor();
  await console.picture("imports");
  await console.checkAccess();
});

test("An import of which nothing comes is asked about once a minute, and only while it is seen", async (console) => {
  const { page } = console;
  const [began, asked] = [new Date(Date.now() - 300_000).toISOString(), [] as string[]];
  const stalled = {
    import_id: "stalled",
    form: "import_jsonl",
    state: "running",
    written: 1,
    lines: 2,
    bytes: 3,
    started_at: began,
    updated_at: began,
  };
  await page.route(
    "**/_admin/imports?*",
    (route) => route.fulfill({ json: { ok: true, data: [stalled], truncated: false } }),
  );
  await page.route("**/_admin/imports/stalled?*", (route) => {
    asked.push(route.request().url());
    return route.fulfill({ json: { ok: true, import: stalled } });
  });
  await page.clock.install();
  await console.go("/instances?view=imports");
  await page.getByRole("cell", { name: /Send the same file under the same name/ }).waitFor();
  await page.clock.runFor(50_000);
  assert.equal(asked.length, 0);
  await page.evaluate('Object.defineProperty(document, "hidden", { value: true, writable: true })');
  await page.clock.runFor(60_000);
  assert.equal(asked.length, 0);
  const answered = page.waitForResponse("**/_admin/imports/stalled?*");
  await page.evaluate(
    'document.hidden = false; document.dispatchEvent(new Event("visibilitychange"))',
  );
  await answered;
  assert.equal(asked.length, 1);
});

test("With an API key, the page says for whom it is", async (console) => {
  await console.go("/instances");
  await console.page.getByRole("heading", { name: "For operators" }).waitFor();
}, { as: "reader" });
