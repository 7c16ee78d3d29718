/** On a screen of 390 px, nothing is cut off that cannot be reached: the pages and wide tables. */

import assert from "node:assert/strict";
import { ORDERS } from "./shop/console_shop.ts";
import { consoleTests } from "./shop/open_page.ts";

const test = consoleTests(async ({ admin }) => {
  await admin.anchors.make().orThrow();
});

/** Pages by their address, each with a text that is there once it is loaded. */
const PAGES = [
  ["/streams", "payment"],
  [`/streams/order/${ORDERS.declined}?event=0`, "Chain hash"],
  ["/reactions", "Deadlines of sagas"],
  ["/reactions/sagas", "fulfilment"],
  ["/reactions/listeners", "billing"],
  ["/projections", "orders"],
  ["/spec", "current"],
  [`/workbench/order/was_paid?stream=${ORDERS.paid}`, "Edited handler"],
  ["/proof", "not pinned"],
  ["/instances", "first read key"],
] as const;

test(
  "The pages are all in sight, and no table needs to be moved sideways",
  async (console) => {
    const { page } = console;
    for (const [place, text] of PAGES) {
      await console.go(place);
      await page.locator("main").getByText(text, { exact: true }).first().waitFor();
      assert.deepEqual(await page.evaluate(CUT_OFF), [], place);
    }
    await console.picture("narrow_instances");
  },
  { width: 390 },
);

test(
  "A row of a wide table has the title of each column before its value, and none upon another",
  async (console) => {
    const { page } = console;
    await console.go("/instances");
    const cells = page.getByRole("table", { name: "Instances" }).locator("tbody td");
    await cells.first().waitFor();
    const seen = await page.evaluate<Cell[]>(CELLS);
    assert.deepEqual(seen.map(({ title }) => title), [
      '"Name"',
      '"Tier"',
      '"Events this month in test"',
      '"Created"',
    ]);
    for (const [at, { top }] of seen.entries()) {
      if (at > 0) assert.ok(top >= seen[at - 1]!.bottom);
    }
    // The third title takes two lines, its value one: it holds both.
    const heights = seen.map(({ top, bottom }) => bottom - top);
    assert.ok(heights[2]! > heights[0]! * 1.5);
    await console.checkAccess();
  },
  { width: 390 },
);

interface Cell {
  readonly title: string;
  readonly top: number;
  readonly bottom: number;
}

/** Run in the page. */
const CELLS = `[...document.querySelectorAll("[aria-label='Instances'] tbody td")].map((cell) => {
  const { top, bottom } = cell.getBoundingClientRect();
  return { title: getComputedStyle(cell, "::before").content, top, bottom };
})`;

/** Run in the page. What reaches beyond the window, or has to be moved to be seen. */
const CUT_OFF = `[
  ...[...document.querySelectorAll("nav a, main button, main input, main select")]
    .filter((each) => each.getBoundingClientRect().right > innerWidth),
  ...[...document.querySelectorAll("nav, main .table, main .tabs")]
    .filter((each) => each.scrollWidth > each.clientWidth),
].map((each) => each.outerHTML.slice(0, 200))`;
