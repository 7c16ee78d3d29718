/** Projections in the console: their states, and one as a table. */

import assert from "node:assert/strict";
import { ORDERS } from "./shop/console_shop.ts";
import { ORDERS_TABLE } from "./shop/shop_spec.ts";
import { consoleTests, type OpenConsole } from "./shop/open_page.ts";

const HOSTILE = "H0ST11E01";
const SCRIPT = `<img src=x onerror="globalThis.wasRun = true">`;

const test = consoleTests(async ({ db, admin }) => {
  await db.customer!("EVE000001").was_registered!({ name: `\u202e${SCRIPT}` }).orThrow();
  await db.order!(HOSTILE).was_placed!({ customer: "EVE000001", total: 7 }).orThrow();
  // Until it is built, it cannot be read.
  await untilReady(admin);
});

async function untilReady(admin: OpenConsole["shop"]["admin"]): Promise<void> {
  for (;;) {
    const { data } = await admin.projections.listPage().orThrow();
    if (data.every(({ state }) => state === "ready")) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

function tableOf({ page }: OpenConsole) {
  return page.getByRole("table", { name: "Rows of orders" });
}

/** The cells of the column, from the first row. */
async function columnOf(console: OpenConsole, index: number): Promise<string[]> {
  const rows = tableOf(console).getByRole("row");
  const cells = await rows.evaluateAll(
    (found, at) => found.slice(1).map((row) => row.children[at]!.textContent!),
    index,
  );
  return cells;
}

test("The list shows each projection with its state, and leads to its rows", async (console) => {
  const { page } = console;
  await console.go("/projections");
  const row = page.getByRole("table", { name: "Projections" }).getByRole("row")
    .filter({ hasText: "orders" });
  await row.getByText("ready").waitFor();
  await row.getByText("current").waitFor();
  await console.picture("projections");
  await console.checkAccess();
  await row.getByRole("link", { name: "orders" }).click();
  await tableOf(console).waitFor();
});

test("A table is sorted by a column, up and down, and the address says so", async (console) => {
  const { page } = console;
  await console.go("/projections/tables/orders");
  await tableOf(console).waitFor();
  await page.getByText("4 rows").waitFor();
  await page.getByText("Current: everything that was written before is in it.").waitFor();
  await page.getByRole("button", { name: "total" }).click();
  await page.getByRole("columnheader", { name: "total" }).and(page.locator("[aria-sort=ascending]"))
    .waitFor();
  await page.waitForFunction(() => location.hash.includes("sort=total"));
  await page.getByRole("row", { name: HOSTILE }).first().waitFor();
  await page.getByRole("button", { name: "total" }).click();
  await page.locator("[aria-sort=descending]").waitFor();
  await tableOf(console).getByRole("row").nth(1).getByText("12", { exact: true }).waitFor();
  assert.deepEqual(await columnOf(console, 3), ["12", "11", "10", "7"]);
  await console.picture("projection_table");
  await console.checkAccess();
});

test("Filters are joined, leave rows out, and are removed one by one", async (console) => {
  const { page } = console;
  await console.go("/projections/tables/orders");
  const filter = page.getByRole("form", { name: "New filter" });
  await filter.getByLabel("Column").selectOption("total");
  await filter.getByLabel("Test").selectOption("is at least");
  await filter.getByLabel("Value").fill("11");
  await filter.getByRole("button", { name: "Filter" }).click();
  await page.getByText("2 rows").waitFor();
  await filter.getByLabel("Column").selectOption("status");
  await filter.getByLabel("Test").selectOption("contains");
  await filter.getByLabel("Value").fill("declin");
  await filter.getByRole("button", { name: "Filter" }).click();
  await page.getByText("1 row.").waitFor();
  await page.getByRole("link", { name: `Row 1: ${ORDERS.declined}` }).waitFor();
  await page.reload();
  await page.getByText("1 row.").waitFor();
  await page.getByRole("button", { name: "Remove the filter on total" }).click();
  await page.getByRole("button", { name: "Remove the filter on status" }).click();
  await page.getByText("4 rows").waitFor();
});

test("A row shows its values, what it is made of, and the way to its stream", async (console) => {
  const { page, shop } = console;
  await console.go("/projections/tables/orders");
  await page.getByRole("link", { name: `Row 4: ${ORDERS.paid}` }).focus();
  await page.keyboard.press("Enter");
  const detail = page.getByRole("region", { name: `Row ${ORDERS.paid}` });
  await detail.getByText('"Ada Lovelace"').waitFor();
  const { length } = await shop.db.order!(ORDERS.paid).length().orThrow();
  await detail.getByText(`Shows ${length} events`).waitFor();
  await console.checkAccess();
  await detail.getByRole("link", { name: `Its stream order:${ORDERS.paid}` }).click();
  await page.getByRole("heading", { name: `order:${ORDERS.paid}` }).waitFor();
});

test("Whatever a row says is shown as text and runs nothing", async (console) => {
  const { page } = console;
  await console.go(`/projections/tables/orders?row=${HOSTILE}`);
  await page.getByRole("region", { name: `Row ${HOSTILE}` }).getByText("onerror").waitFor();
  await tableOf(console).getByText("onerror").waitFor();
  assert.equal(await page.evaluate("globalThis.wasRun"), undefined);
  assert.equal(await page.locator("main img").count(), 0);
});

test("The CSV file has every row, as the server exports it", async (console) => {
  const { page, shop } = console;
  await console.go("/projections/tables/orders");
  const loading = page.waitForEvent("download");
  await page.getByRole("button", { name: "Download CSV" }).click();
  const download = await loading;
  assert.equal(download.suggestedFilename(), "orders.csv");
  const stream = await download.createReadStream();
  const text = await new Response(ReadableStream.from(stream)).text();
  const { stream: known } = await shop.db.$projections.csv("orders", { formulas: "text" })
    .orThrow();
  assert.equal(text, await new Response(known).text());
  assert.ok(text.includes(ORDERS.paid));
});

test("An export that runs ends when its page is left", async (console) => {
  const { page } = console;
  await console.go("/projections/tables/orders");
  await page.route("**/export.csv?*", () => {});
  const ended = page.waitForEvent(
    "requestfailed",
    (request) => request.url().includes("/export.csv?"),
  );
  await page.getByRole("button", { name: "Download CSV" }).click();
  await page.getByRole("button", { name: "Loading: 0 bytes" }).waitFor();
  await console.go("/streams");
  await ended;
});

test("A broken projection says why, and shows its last good rows on demand", async (console) => {
  const { page, shop } = console;
  const { spec } = await shop.admin.specs.current().orThrow();
  const broken = structuredClone(spec) as { aggregate_types: Record<string, unknown> };
  await shop.admin.projections.deploy({
    name: "sums",
    for_each: "ledger",
    sources: { ledger: "$key" },
    select: { sum: "$.ledger.sum" },
  }).orThrow();
  await untilReady(shop.admin);
  delete broken.aggregate_types.ledger;
  const { customer } = broken.aggregate_types as {
    customer: { events: { had_order: { implications?: unknown } } };
  };
  delete customer.events.had_order.implications;
  await shop.admin.deploy(broken, { force: true }).orThrow();
  await console.go("/projections");
  await page.getByRole("row").filter({ hasText: "sums" }).getByText("broken").waitFor();
  await console.go("/projections/tables/sums");
  await page.getByRole("alert").getByText("projection_broken").waitFor();
  await console.checkAccess();
  await page.getByRole("button", { name: "Show the last good rows" }).click();
  await page.getByText("The last good rows of a broken projection").waitFor();
  await page.getByRole("link", { name: "Row 1: main" }).waitFor();
});

test("A key opens a projection by its name, and an unknown one is refused", async (console) => {
  const { page } = console;
  await console.go("/projections");
  await page.getByLabel("Projection", { exact: true }).fill(ORDERS_TABLE.name);
  await page.getByRole("button", { name: "Open" }).click();
  await tableOf(console).getByText("Ada Lovelace").first().waitFor();
  await console.go("/projections/tables/nothing");
  await page.getByRole("alert").first().waitFor();
}, { as: "reader" });

test("A type without points says so where one searches near a point", async (console) => {
  const { page } = console;
  await console.go("/projections/near");
  await page.getByLabel("Type").fill("customer");
  await page.getByLabel("Latitude").fill("52.52");
  await page.getByLabel("Longitude").fill("13.405");
  await page.getByRole("button", { name: "Search" }).click();
  await page.getByRole("alert").getByText("not_found").waitFor();
  assert.match(page.url(), /type=customer/);
  await console.checkAccess();
  // What was found near one point is not shown under another.
  await page.route(/[?&]lat=3\b/, () => {});
  await page.getByLabel("Latitude").fill("3");
  await page.getByRole("button", { name: "Search" }).click();
  await page.getByRole("alert").waitFor({ state: "detached" });
});
