/** The SQL notebook in the console: cells run, are kept, drawn, exported and imported. */

import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { ORDERS } from "./shop/console_shop.ts";
import { consoleTests, type OpenConsole } from "./shop/open_page.ts";

const MANY = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000) " +
  "SELECT i, i * 2 AS twice, 'row ' || i AS title FROM n";

const test = consoleTests(async ({ admin }) => {
  for (;;) {
    const { data } = await admin.projections.listPage().orThrow();
    if (data.every(({ state }) => state === "ready")) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
});

/** Opens the notebook with one cell, and runs it by the keyboard. */
async function runCell(console: OpenConsole, sql: string) {
  const { page } = console;
  await console.go("/projections/sql");
  await page.getByRole("button", { name: "Add a cell" }).click();
  const cell = page.getByRole("region", { name: /^Cell/ }).last();
  const editor = cell.getByRole("textbox").first();
  await editor.fill(sql);
  await editor.press("Control+Enter");
  return cell;
}

test("A cell runs by the keyboard, with its parameters, and says how fresh the answer is", async (console) => {
  const { page } = console;
  const cell = await runCell(console, "SELECT");
  await cell.getByRole("alert").getByText("sql_not_allowed").waitFor();
  await cell.getByRole("textbox").first().fill(
    "SELECT status, count(*) AS orders, sum(total) AS total FROM orders\n" +
      "WHERE total > :least GROUP BY status ORDER BY status",
  );
  await cell.getByLabel(":least").fill("10.5");
  await cell.getByLabel(":least").press("Control+Enter");
  const table = cell.getByRole("table");
  await table.getByText("declined").waitFor();
  assert.deepEqual(
    await table.getByRole("row").evaluateAll((rows) => rows.map((row) => row.textContent)),
    ["Rowstatusorderstotal", "1declined112", "2placed111"],
  );
  await cell.getByText("2 rows. Current: everything that was written before is in it.").waitFor();
  await cell.getByRole("button", { name: "Row 2" }).click();
  await page.getByRole("dialog").getByText('"placed"').waitFor();
  await page.keyboard.press("Escape");
  await cell.getByLabel("Chart of").selectOption("total");
  await page.getByRole("img", { name: "total by status, 2 points" }).locator("canvas").waitFor();
  await console.picture("notebook");
  await console.checkAccess();
});

test("Cells are kept in the browser, and only there", async (console) => {
  const { page } = console;
  await runCell(console, "SELECT 41 + 1 AS kept");
  await page.reload();
  const editor = page.getByRole("region", { name: "Cell 1" }).getByRole("textbox");
  await editor.waitFor();
  assert.equal(await editor.inputValue(), "SELECT 41 + 1 AS kept");
  const names = await page.evaluate(() => Object.keys(localStorage));
  assert.ok(names.some((name) => /^daybook\.notebook\..+\.test$/.test(name)), names.join());
  await page.getByRole("button", { name: "Delete cell 1" }).click();
  await page.getByText("The notebook is empty.").waitFor();
  await page.reload();
  await page.getByText("The notebook is empty.").waitFor();
});

/** Run in the page: counts from now on what is kept, and looks through long lists. */
const COUNT_WORK = `(() => {
  const work = globalThis.work = { kept: 0, longLists: 0 };
  const { setItem } = Storage.prototype;
  Storage.prototype.setItem = function (...of) {
    work.kept++;
    return setItem.apply(this, of);
  };
  for (const name of ["some", "every", "find", "filter", "map"]) {
    const method = Array.prototype[name];
    Array.prototype[name] = function (...of) {
      if (this.length >= 10_000) work.longLists++;
      return method.apply(this, of);
    };
  }
})()`;

function keptText(): string {
  const name = Object.keys(localStorage).find((name) => name.startsWith("daybook.notebook."));
  return name === undefined ? "" : localStorage.getItem(name)!;
}

test("Typing keeps the notebook once it pauses, and looks through no answer again", async (console) => {
  const { page } = console;
  await runCell(console, MANY);
  const first = page.getByRole("region", { name: "Cell 1" });
  await first.getByLabel("Chart of").waitFor();
  await page.getByRole("button", { name: "Add a cell" }).click();
  const editor = page.getByRole("region", { name: "Cell 2" }).getByRole("textbox");
  await page.evaluate(COUNT_WORK);
  const typed = "SELECT 'typed key by key' AS title, 12345 AS number";
  await editor.pressSequentially(typed);
  await first.getByRole("textbox").first().press("End");
  await first.getByRole("textbox").first().pressSequentially(" -- and here");
  const work = await page.evaluate<{ kept: number; longLists: number }>("globalThis.work");
  assert.equal(work.longLists, 0);
  assert.ok(work.kept < typed.length / 2, `kept ${work.kept} times`);
  while (!(await page.evaluate(keptText)).includes("and here")) {
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  assert.ok((await page.evaluate(keptText)).includes(typed));
});

test("What was typed last is kept where the page is left at once, or hidden", async (console) => {
  const { page } = console;
  const cell = await runCell(console, "SELECT 1");
  const editor = cell.getByRole("textbox").first();
  // In one task of the page, so that no pause can have kept it.
  await editor.evaluate((element, input) => {
    const view = globalThis as unknown as { Event: typeof Event; location: { hash: string } };
    (element as unknown as { value: string }).value = "SELECT 'left'";
    element.dispatchEvent(new view.Event(input, { bubbles: true }));
    view.location.hash = "#/streams";
  }, "input");
  await page.getByRole("heading", { name: "Streams", level: 1 }).waitFor();
  assert.match(await page.evaluate(keptText), /'left'/);
  await console.go("/projections/sql");
  await editor.fill("SELECT 'reloaded'");
  await page.reload();
  await editor.waitFor();
  assert.equal(await editor.inputValue(), "SELECT 'reloaded'");
  const hidden = await editor.evaluate((element) => {
    (element as unknown as { value: string }).value = "SELECT 'hidden'";
    element.dispatchEvent(new Event("input", { bubbles: true }));
    element.ownerDocument.dispatchEvent(new Event("visibilitychange"));
    return Object.values(localStorage).join();
  });
  assert.match(hidden, /'hidden'/);
});

test("A notebook is exported and imported as one file, and a file that is none is refused", async (console) => {
  const { page } = console;
  await runCell(console, "SELECT 1 AS exported");
  const loading = page.waitForEvent("download");
  await page.getByRole("button", { name: "Export" }).click();
  const download = await loading;
  const text = await new Response(ReadableStream.from(await download.createReadStream())).text();
  await page.getByRole("button", { name: "Delete cell 1" }).click();
  const file = { name: "notebook.json", mimeType: "application/json", buffer: Buffer.from(text) };
  await page.getByLabel("Import").setInputFiles(file);
  await page.getByRole("region", { name: "Cell 1" }).waitFor();
  await page.getByLabel("Import").setInputFiles({ ...file, buffer: Buffer.from("{}") });
  await page.getByRole("alert").getByText("The file is not a notebook").waitFor();
  assert.equal(await page.getByRole("region", { name: /^Cell/ }).count(), 1);
});

test("Of 10,000 rows the visible ones are drawn, and the end is one key away", async (console) => {
  const { page } = console;
  const cell = await runCell(console, MANY);
  await cell.getByText("The first 10,000 rows: the answer was longer.").waitFor();
  const table = cell.getByRole("table");
  assert.equal(await table.getAttribute("aria-rowcount"), "10001");
  await table.focus();
  await page.keyboard.press("End");
  await table.getByText("row 10000", { exact: true }).waitFor();
  const drawn = await table.getByRole("row").count();
  assert.ok(drawn < 60, `${drawn} rows are in the page`);
  const loading = page.waitForEvent("download");
  await cell.getByRole("button", { name: "Download CSV" }).click();
  const stream = await (await loading).createReadStream();
  const lines = (await new Response(ReadableStream.from(stream)).text()).split("\r\n");
  assert.deepEqual([lines.length, lines[0], lines[10_000]], [
    10_002,
    "i,twice,title",
    "10000,20000,row 10000",
  ]);
});

test("The tables and their columns stand beside the cells", async (console) => {
  const { page } = console;
  await console.go("/projections/sql");
  const tables = page.getByRole("complementary", { name: "Tables" });
  await tables.locator("summary").filter({ hasText: "orders" }).click();
  await tables.getByText("total").waitFor();
  await tables.getByRole("button", { name: "Look at orders" }).click();
  const cell = page.getByRole("region", { name: "Cell 1" });
  await cell.getByRole("textbox").press("Control+Enter");
  await cell.getByRole("table").getByText(ORDERS.paid).waitFor();
});

test("A filtered table opens as a cell that gives the same rows", async (console) => {
  const { page } = console;
  const where = encodeURIComponent('[["total","ge","11"],["status","is","placed"]]');
  await console.go(`/projections/tables/orders?where=${where}`);
  await page.getByText("1 row.").waitFor();
  await page.getByRole("link", { name: "Open as SQL" }).click();
  const cell = page.getByRole("region", { name: "Cell 1" });
  await cell.getByRole("button", { name: "Run" }).click();
  await cell.getByRole("table").getByText(ORDERS.open).waitFor();
  await cell.getByText("1 row.").waitFor();
  assert.ok(!page.url().includes("SELECT"));
}, { as: "reader" });

test(
  "A key sees the notebook of its own instance, and what stays after signing out is said",
  async (console) => {
    const { page, shop } = console;
    const cell = await runCell(console, "SELECT 'of the first' AS kept");
    await cell.getByRole("table").waitFor();
    assert.deepEqual(
      await page.evaluate(() => Object.keys(localStorage).filter((name) => /notebook/.test(name))),
      [`daybook.notebook.${shop.instanceId}.test`],
    );
    await page.route("**/_audit/signing-key*", async (route) => {
      const answer = await (await route.fetch()).json();
      await route.fulfill({ json: { ...answer, instance_id: crypto.randomUUID() } });
    });
    await page.reload();
    await page.getByText("The notebook is empty.").waitFor();
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByText("This browser keeps SQL notebooks of earlier sessions").waitFor();
    await console.checkAccess();
  },
  { as: "reader" },
);
