/** The causal graph of an event in the console: drawn, and as a list for the keyboard. */

import assert from "node:assert/strict";
import { CUSTOMER, ORDERS } from "./shop/console_shop.ts";
import { consoleTests, type OpenConsole } from "./shop/open_page.ts";

const test = consoleTests();

async function linesOf({ page }: OpenConsole): Promise<string[]> {
  const list = page.getByRole("list", { name: "Causes and effects" });
  await list.waitFor();
  const lines = await list.getByRole("listitem").allTextContents();
  return lines.map((line) => line.replaceAll(/\s+/g, " ").trim());
}

function has(lines: readonly string[], ...patterns: readonly RegExp[]): void {
  for (const pattern of patterns) {
    assert.ok(lines.some((line) => pattern.test(line)), `${pattern} in:\n${lines.join("\n")}`);
  }
}

test("An order leads to what it has set off: events, its timer, its saga step by step, deliveries", async (console) => {
  const { page } = console;
  await console.go(`/streams/order/${ORDERS.declined}?event=0`);
  await page.getByRole("link", { name: "Causes and effects" }).click();
  await page.getByText("causes on the left, effects on the right").waitFor();
  const lines = await linesOf(console);
  assert.match(lines[0]!, /^was_placed order:DEC11NED1 .*\(this event\)$/);
  has(
    lines,
    new RegExp(`^wrote had_order customer:${CUSTOMER}`),
    /^wrote was_booked ledger:main/,
    /^scheduled timer: was_declined order:DEC11NED1 /,
    /^started saga: fulfilment .*compensated/,
    /^step reserve was_reserved stock:main/,
    /^step charge was_requested payment:DEC11NED1/,
    /was_released stock:main/,
    /^is sent to delivery: billing .*delivered 1 try, the last: 200$/,
  );
  const list = page.getByRole("list", { name: "Causes and effects" });
  assert.equal(await list.getByRole("listitem").nth(2).getAttribute("aria-level"), "3");
  // Each line of the drawing ends in an arrowhead, and the legend says what it means.
  const legend = page.getByRole("list", { name: "Legend" });
  assert.deepEqual((await legend.getByRole("listitem").allTextContents()).map((t) => t.trim()), [
    "event",
    "this event",
    "timer, saga or delivery",
    "done",
    "under way",
    "undone",
    "failed",
    "has set off",
    "another cause",
  ]);
  const heads = await page.evaluate<string[]>(ARROWHEADS);
  assert.ok(heads.length >= lines.length - 1);
  assert.deepEqual(heads.filter((name) => name !== "marker"), []);
  await console.picture("graph");
  await console.checkAccess();
  await list.getByRole("link", { name: "billing" }).click();
  await page.getByRole("heading", { name: "billing" }).waitFor();
  assert.equal(await page.getByLabel("State").inputValue(), "delivered");
});

/** Run in the page. What stands at the end of each line of the drawing. */
const ARROWHEADS = `
  [...document.querySelectorAll(".graph .edge")].map((edge) =>
    document.querySelector(/url\\("?(#[^")]+)/.exec(getComputedStyle(edge).markerEnd)?.[1])?.tagName
  )
`;

test("An event that is not in the graph shown so far gets a graph of its own", async (console) => {
  await console.go(`/streams/order/${ORDERS.declined}?event=0&view=causes`);
  assert.match((await linesOf(console))[0]!, /^was_placed/);
  await console.go(`/streams/order/${ORDERS.declined}?event=1&view=causes`);
  await console.page.getByText("2 things:").waitFor();
  assert.match((await linesOf(console))[0]!, /^was_declined .*\(this event\)$/);
});

test(
  "The event is in sight, however many others there are, and Larger keeps it there",
  async (console) => {
    const { page } = console;
    await console.go(`/streams/order/${ORDERS.declined}?event=0&view=causes`);
    const isInSight = () =>
      page.evaluate(`(() => {
        const box = document.querySelector(".graph").getBoundingClientRect();
        const node = document.querySelector(".graph .start rect").getBoundingClientRect();
        return node.left >= box.left && node.top >= box.top && node.bottom <= box.bottom;
      })()`);
    await linesOf(console);
    assert.equal(await isInSight(), true);
    await page.getByRole("button", { name: "Larger" }).click();
    await page.getByText("150 %").waitFor();
    assert.equal(await isInSight(), true);
  },
  { width: 390, height: 300 },
);

test("An effect leads up to its causes, by the keyboard alone", async (console) => {
  const { page } = console;
  await console.go(`/streams/order/${ORDERS.paid}?event=0&view=causes`);
  const booked = page.getByRole("link", { name: "was_booked" });
  await booked.focus();
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "ledger:main" }).waitFor();
  await page.getByText("(this event)").waitFor();
  const lines = await linesOf(console);
  assert.match(lines[0]!, /^was_placed order:/);
  assert.match(lines[1]!, /^wrote had_order customer:/);
  assert.match(lines[2]!, /^wrote was_booked ledger:main \(this event\)$/);
  await page.getByRole("button", { name: "Smaller" }).focus();
  await page.keyboard.press("Enter");
  await page.getByText("75 %").waitFor();
});

test("A timer says which event has cancelled it", async (console) => {
  await console.go(`/streams/order/${ORDERS.paid}?event=0&view=causes`);
  has(await linesOf(console), /timer: was_declined .*cancelled.*cancelled by was_paid/);
});

test(
  "An event without causes and effects says so, to a reader with a key, too",
  async (console) => {
    const { page } = console;
    await console.go(`/streams/customer/${CUSTOMER}?event=0&view=causes`);
    await page.getByText("It has no cause in Daybook and has set nothing off.").waitFor();
  },
  { as: "reader" },
);
