/** Writing in the console: a form of the schema, refusals at its fields, one write for each key. */

import assert from "node:assert/strict";
import { ACTOR, CUSTOMER } from "./shop/console_shop.ts";
import { consoleTests } from "./shop/open_page.ts";

const KNOWN = "WR1TE0001";
const NOTED = "N0TED0001";
const SCRIPT = `<img src=x onerror="globalThis.wasRun = true">\u202e`;

const test = consoleTests(async ({ db }) => {
  await db.order!(KNOWN).was_placed!({ customer: CUSTOMER, total: 1 }).orThrow();
});

test(
  "An event is written by a form, after its faults were shown at their fields",
  async (console) => {
    const { page, shop } = console;
    const id = crypto.randomUUID();
    await console.go("/write/order");
    await page.getByLabel("Id", { exact: true }).fill(id);
    await page.getByRole("button", { name: "Go on" }).click();
    await page.getByLabel("Id of the actor").fill("global");
    await page.getByLabel("total", { exact: true }).fill("-1");
    await page.getByLabel("gift", { exact: true }).selectOption("true");
    await page.getByLabel("channel", { exact: true }).selectOption("phone");
    await page.getByRole("button", { name: "Add lines 1" }).click();
    await page.getByRole("button", { name: "Add lines 2" }).click();
    await page.getByLabel("sku").first().fill("TEA-1");
    await page.getByLabel("qty").first().fill("1.5");
    await page.getByRole("button", { name: "Remove lines 2" }).click();
    await page.getByRole("button", { name: "Check without writing" }).click();
    await page.getByText("must be >= 0", { exact: true }).waitFor();
    await page.getByText("must be an integer", { exact: true }).waitFor();
    // The first field with a fault has the focus.
    await page.locator("*:focus").and(page.getByLabel("customer")).waitFor();
    await console.picture("write_refused");
    await console.checkAccess();

    await page.getByLabel("customer").fill(SCRIPT);
    // The faults of other fields stay until those have changed.
    await page.getByText("must be >= 0", { exact: true }).waitFor();
    await page.getByLabel("total", { exact: true }).fill("12.5");
    await page.getByLabel("qty").fill("2");
    await page.getByRole("button", { name: "Check without writing" }).click();
    const verdict = page.getByText("The server would take this event");
    await verdict.waitFor();
    // It holds for what was checked only.
    await page.getByLabel("total", { exact: true }).fill("13");
    await verdict.waitFor({ state: "detached" });
    await page.getByLabel("total", { exact: true }).fill("12.5");
    assert.equal((await shop.db.order!(id).length().orThrow()).length, 0);
    // Pressed twice, and once more after the answer: the key is the same.
    await page.getByRole("button", { name: "Write", exact: true }).dblclick();
    const link = page.getByRole("link", { name: `event 0 of order:${id}` });
    await link.waitFor();
    await page.getByRole("button", { name: "Write", exact: true }).click();
    await page.getByRole("button", { name: "Write", exact: true }).and(
      page.locator('[aria-disabled="false"]'),
    ).waitFor();
    await console.picture("write");
    await console.checkAccess();
    await link.click();
    await page.getByRole("heading", { name: "0: was_placed" }).waitFor();
    const { data } = await shop.db.order!(id).eventsPage().orThrow();
    assert.equal(data.length, 1);
    assert.deepEqual(data[0]!.event.data, {
      customer: SCRIPT,
      total: 12.5,
      channel: "phone",
      gift: true,
      lines: [{ sku: "TEA-1", qty: 2 }],
    });
    assert.equal(data[0]!.event.metadata.previous_length, 0);
    assert.equal(await page.evaluate("globalThis.wasRun"), undefined);
  },
  { as: "writer" },
);

test("Whoever has looked at an older stream is told, and decides again", async (console) => {
  const { page, shop } = console;
  await console.go(`/streams/order/${KNOWN}`);
  await page.getByRole("link", { name: "Write an event" }).click();
  await page.getByLabel("Event type").selectOption("was_paid");
  await shop.db.order!(KNOWN).was_noted!({ text: "meanwhile" }).orThrow();
  await page.getByLabel("amount").fill("1");
  await page.getByLabel("Id of the actor").fill("global");
  await page.getByRole("button", { name: "Write", exact: true }).click();
  await page.getByText("The stream has 2 events, and you expected 1.").waitFor();
  await console.checkAccess();
  await page.getByRole("button", { name: "Expect 2 events" }).click();
  await page.getByRole("button", { name: "Write", exact: true }).click();
  await page.getByRole("link", { name: `event 2 of order:${KNOWN}` }).waitFor();
  const key = await page.getByLabel("Idempotency key").inputValue();
  await page.getByRole("button", { name: "Write another event" }).click();
  assert.notEqual(await page.getByLabel("Idempotency key").inputValue(), key);
  assert.equal(await page.getByLabel("Expected length").inputValue(), "3");
  assert.equal((await shop.db.order!(KNOWN).length().orThrow()).length, 3);
}, { as: "writer" });

test(
  "A write whose answer was lost is repeated under its key, and written once",
  async (console) => {
    const { page, shop } = console;
    const path = `/stock/global/was_reserved`;
    const before = (await shop.db.stock!("global").length().orThrow()).length;
    let isLost = true;
    await page.route(`${shop.base}${path}`, async (route) => {
      if (!isLost) return await route.continue();
      // The server has answered, but nobody hears it.
      await route.fetch();
      await route.fulfill({ status: 502, body: "a proxy has lost it" });
    });
    await console.go("/write/stock/global?event=was_reserved");
    await page.getByLabel("Data", { exact: true }).fill('{"__proto__": {"a": 1}}');
    await page.getByLabel("Id of the actor").fill("global");
    await page.getByRole("button", { name: "Write", exact: true }).click();
    await page.getByText("It is not known whether the event was written").waitFor();
    isLost = false;
    await page.getByRole("button", { name: "Write", exact: true }).click();
    await page.getByRole("link", { name: `event ${before} of stock:global` }).waitFor();
    const after = await shop.db.stock!("global").length().orThrow();
    assert.equal(after.length, before + 1);
  },
  { as: "writer" },
);

test(
  "By the keyboard alone, data is typed as JSON and goes back into the form",
  async (console) => {
    const { page, shop } = console;
    await console.go(`/write/customer/${NOTED}`);
    await page.getByLabel("name", { exact: true }).focus();
    await page.keyboard.type("Ada");
    await page.getByRole("button", { name: "Fill in as JSON" }).press("Enter");
    const json = page.getByLabel("Data as JSON");
    assert.deepEqual(JSON.parse(await json.inputValue()), { name: "Ada" });
    await json.fill('{"name": "Ada", "nick": "A"}');
    await page.getByRole("button", { name: "Fill in as a form" }).press("Enter");
    await page.getByText("The form has no place for all of it").waitFor();
    await json.fill('{"name": "Ada", "email": "ada@example.com"}');
    await page.getByRole("button", { name: "Fill in as a form" }).press("Space");
    await page.getByLabel("email").waitFor();
    await page.getByLabel("Id of the actor").focus();
    await page.keyboard.type("global");
    await page.keyboard.press("Enter");
    await page.getByRole("link", { name: `event 0 of customer:${NOTED}` }).waitFor();
    const { data } = await shop.db.customer!(NOTED).get().orThrow();
    assert.deepEqual(data, { name: "Ada", email: "ada@example.com" });
  },
  { as: "writer" },
);

test("An operator is asked for a key, and a wrong one or a read key does not write", async (console) => {
  const { page, shop } = console;
  await console.go("/write/ledger/main");
  await page.getByRole("heading", { name: "Writing needs an API key" }).waitFor();
  await console.checkAccess();
  const field = page.getByLabel("API key with the scope write");
  await field.fill(`dbk_0_test_${"x".repeat(43)}`);
  await page.getByRole("button", { name: "Use this key" }).click();
  await page.getByText("The server does not accept the key").waitFor();
  await field.fill(shop.readKey);
  await page.getByRole("button", { name: "Use this key" }).click();
  await page.getByText("The key of this tab has the scope read").waitFor();
  await field.fill(shop.writeKey);
  await page.getByRole("button", { name: "Use this key" }).click();
  await page.getByLabel("Data", { exact: true }).fill('{"amount": 1}');
  await page.getByLabel("Id of the actor").fill(ACTOR.id);
  await page.getByRole("button", { name: "Write", exact: true }).click();
  await page.getByRole("link", { name: /^event \d+ of ledger:main/ }).waitFor();
});

test("The key of another instance does not write to the stream that is shown", async (console) => {
  const { page, shop } = console;
  const other = await shop.admin.instances.create({ slug: "other" }).orThrow();
  await console.go(`/write/ledger/main?instance=${other.id}`);
  await page.getByLabel("API key with the scope write").fill(shop.writeKey);
  await page.getByRole("button", { name: "Use this key" }).click();
  await page.getByText("belongs to another instance").waitFor();
  assert.equal(await page.getByRole("button", { name: "Write", exact: true }).count(), 0);
});

test("A key that is given below the form does not write what the form holds", async (console) => {
  const { page, shop } = console;
  const path = `${shop.base}/stock/global/was_reserved`;
  let writes = 0;
  await page.route(path, async (route) => {
    writes += 1;
    const json = { ok: false, error_type: "forbidden", error: "This key may not write here" };
    await route.fulfill({ status: 403, json });
  });
  await console.go("/write/stock/global?event=was_reserved");
  await page.getByLabel("Data", { exact: true }).fill("{}");
  await page.getByLabel("Id of the actor").fill("global");
  await page.getByRole("button", { name: "Write", exact: true }).click();
  await page.getByText("The key of this tab may not write here.").waitFor();
  await page.getByLabel("API key with the scope write").fill(shop.readKey);
  await page.getByRole("button", { name: "Use this key" }).click();
  await page.getByText("The key of this tab has the scope read").waitFor();
  assert.equal(writes, 1);
}, { as: "writer" });
