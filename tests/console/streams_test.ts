/** Streams in the console: found by type and id, their events, and what an event has set off. */

import assert from "node:assert/strict";
import type { Page } from "playwright-core";
import { CUSTOMER, ORDERS } from "./shop/console_shop.ts";
import { consoleTests } from "./shop/open_page.ts";

const LONG = "10NG00001";
const LONG_EVENTS = 1_200;
const LAST = new RegExp(`^${LONG_EVENTS - 1} was_noted`);
const ENDLESS = "END1E5500";
const ENDLESS_EVENTS = 3_000_000;
const HOSTILE = "H0ST11E01";
const SCRIPT =
  `<img src=x onerror="globalThis.wasRun = true"><script>globalThis.wasRun = true</script>`;

const test = consoleTests(async ({ db }) => {
  const notes = (count: number) =>
    Array.from({ length: count }, (_, at) => ({ type: "was_noted", data: { at } }));
  await db.order!(LONG).batch(notes(LONG_EVENTS)).orThrow();
  await db.order!(HOSTILE).was_noted!(JSON.parse(
    JSON.stringify({ html: SCRIPT, turned: "\u202egpj.exe", long: "x".repeat(90_000) })
      .replace("{", `{"__proto__":{"polluted":true},`),
  )).orThrow();
});

test("A stream is found by its type and by how its id begins", async (console) => {
  const { page } = console;
  await console.go("/streams");
  await page.getByRole("link", { name: "order", exact: true }).click();
  await page.getByRole("heading", { name: "order", level: 1 }).waitFor();
  await page.getByLabel("Id begins with").fill("PA1D");
  await page.getByRole("link", { name: ORDERS.open }).waitFor({ state: "detached" });
  await console.checkAccess();
  await page.getByRole("link", { name: ORDERS.paid }).click();
  await page.getByRole("heading", { name: `order:${ORDERS.paid}` }).waitFor();
});

test("An event shows its data, its writer, its place in the chain and what it set off", async (console) => {
  const { page, shop } = console;
  await console.go(`/streams/order/${ORDERS.paid}?event=0`);
  const detail = page.getByRole("region", { name: "Event 0" });
  const { data } = await shop.db.order!(ORDERS.paid).eventsPage({ count: 1 }).orThrow();
  await detail.getByText(data[0]!.hash).waitFor();
  await detail.getByText(`"${CUSTOMER}"`, { exact: true }).waitFor();
  await detail.getByRole("link", { name: `customer:${CUSTOMER}` }).first().waitFor();
  await detail.getByText("fulfilment").waitFor();
  const timer = detail.getByRole("listitem").filter({ hasText: "was_declined" });
  assert.match((await timer.textContent())!, /cancelled.*by was_paid/);
  await console.picture("event");
  await console.checkAccess();
});

test("Of a long stream, what is looked at is loaded: the end as fast as the beginning", async (console) => {
  const { page } = console;
  const pages: string[] = [];
  page.on("request", (request) => {
    if (request.url().includes("/events?")) pages.push(request.url());
  });
  await console.go(`/streams/order/${LONG}`);
  await page.getByRole("link", { name: /^0 was_noted/ }).waitFor();
  await page.getByRole("list", { name: `Events of order:${LONG}` }).focus();
  await page.keyboard.press("End");
  await page.getByRole("link", { name: LAST }).waitFor();
  assert.ok(pages.length <= 3, `${pages.length} pages were loaded`);
  await page.getByLabel("Order", { exact: true }).selectOption("newest");
  await page.getByRole("link", { name: LAST }).waitFor();
});

/** No server of a test has the time to write them, so their pages are made up. */
async function serveEndless(page: Page, base: string): Promise<string[]> {
  const asked: string[] = [];
  await page.route(`${base}/order/${ENDLESS}/*`, async (route) => {
    const url = new URL(route.request().url());
    if (url.pathname.endsWith("/length")) {
      return await route.fulfill({ json: { ok: true, length: ENDLESS_EVENTS } });
    }
    asked.push(url.search);
    const start = url.searchParams.get("start");
    const first = start === null ? 0 : Number(start) + 1;
    const count = Math.min(Number(url.searchParams.get("count")), ENDLESS_EVENTS - first);
    const data = Array.from({ length: count }, (_, at) => ({
      event: {
        type: "was_noted",
        data: { at: first + at },
        metadata: { timestamp: "2026-01-01T00:00:00.000Z" },
      },
      hash: "0".repeat(64),
      stream_id: String(first + at).padStart(12, "0"),
    }));
    await route.fulfill({ json: { ok: true, data, truncated: first + count < ENDLESS_EVENTS } });
  });
  return asked;
}

/** Run in the page: the number of the first event that is visible as a whole. */
const TOP_EVENT = `(() => {
  const list = document.querySelector(".virtual");
  const { top } = list.getBoundingClientRect();
  const row = [...list.querySelectorAll(".virtual-row")]
    .find((row) => row.getBoundingClientRect().top >= top);
  return Number(row.getAttribute("aria-posinset")) - 1;
})()`;

/** Run in the page: as a thumb goes in a moment from the end of a list to its middle. */
const DRAG_TO_MIDDLE = `(async () => {
  const list = document.querySelector(".virtual");
  for (let step = 20; step >= 10; step--) {
    list.scrollTop = list.scrollHeight * step / 20;
    await new Promise((resolve) => requestAnimationFrame(resolve));
  }
})()`;

async function untilTop(page: Page, index: number): Promise<void> {
  const endsAt = Date.now() + 10_000;
  for (;;) {
    const top = await page.evaluate<number>(TOP_EVENT);
    if (top === index) return;
    assert.ok(Date.now() < endsAt, `event ${top} is the first, not ${index}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

test("Every event of a stream of millions can be reached, by its scrollbar, wheel and keys", async (console) => {
  const { page, shop } = console;
  const asked = await serveEndless(page, shop.base);
  await console.go(`/streams/order/${ENDLESS}`);
  const list = page.getByRole("list", { name: `Events of order:${ENDLESS}` });
  await page.getByRole("link", { name: /^0 was_noted/ }).waitFor();
  await list.focus();
  await page.keyboard.press("End");
  await page.getByRole("link", { name: /^2999999 was_noted/ }).waitFor();
  await page.keyboard.press("Home");
  await page.getByRole("link", { name: /^0 was_noted/ }).waitFor();
  const before = asked.length;
  await page.evaluate(DRAG_TO_MIDDLE);
  await page.getByRole("link", { name: /^1[45]\d{5} was_noted/ }).first().waitFor();
  assert.ok(asked.length - before <= 2, `${asked.length - before} pages were loaded`);
  const middle = await page.evaluate<number>(TOP_EVENT);
  assert.ok(Math.abs(middle - ENDLESS_EVENTS / 2) < ENDLESS_EVENTS / 100, `${middle}`);
  // The wheel turns by 10 rows of 40 px, and what it leads to stays there.
  await list.hover();
  for (let turns = 1; turns <= 3; turns++) {
    await page.mouse.wheel(0, 400);
    await untilTop(page, middle + turns * 10);
    await new Promise((resolve) => setTimeout(resolve, 300));
    assert.equal(await page.evaluate<number>(TOP_EVENT), middle + turns * 10);
  }
  await page.keyboard.press("ArrowDown");
  await untilTop(page, middle + 31);
  assert.ok(await page.locator(".virtual-row").count() < 60);
  await console.go(`/streams/order/${ENDLESS}?event=2345678`);
  await page.getByRole("region", { name: "Event 2345678" }).waitFor();
  await page.getByRole("link", { name: /^2345678 was_noted/ }).waitFor();
  await console.checkAccess();
});

test("Whatever an event says is shown as text and runs nothing", async (console) => {
  const { page } = console;
  await console.go(`/streams/order/${HOSTILE}?event=0`);
  const detail = page.getByRole("region", { name: "Event 0" });
  await detail.getByText("onerror").waitFor();
  await detail.getByText("__proto__").waitFor();
  await detail.getByRole("button", { name: "Show more of 90,000 characters" }).waitFor();
  assert.equal(await page.evaluate("globalThis.wasRun"), undefined);
  assert.equal(await page.evaluate("({}).polluted"), undefined);
  assert.equal(await detail.locator("img").count(), 0);
  await console.checkAccess();
});

test("A stream without events says so, and so does an id that is none", async (console) => {
  const { page } = console;
  await console.go("/streams/order/N0THERE01");
  await page.getByRole("heading", { name: "No events" }).waitFor();
  await console.go("/streams/order/not%20an%20id");
  await page.getByRole("alert").first().waitFor();
});

test("An event that came after the page is shown, and one that does not exist is named", async (console) => {
  const { page, shop } = console;
  const id = "GR0WN0001";
  await shop.db.order!(id).was_noted!({ at: 0 }).orThrow();
  await console.go(`/streams/order/${id}?event=0`);
  await page.getByRole("region", { name: "Event 0" }).waitFor();
  await shop.db.order!(id).was_noted!({ at: 1 }).orThrow();
  await console.go(`/streams/order/${id}?event=1`);
  await page.getByRole("region", { name: "Event 1" }).getByText("Chain hash").waitFor();
  for (const event of ["abc", "1.5", "99999", "-1"]) {
    await console.go(`/streams/order/${id}?event=${event}`);
    await page.getByRole("alert").getByText(`There is no event ${event}.`).waitFor();
  }
  await console.checkAccess();
});

test("A type that cannot exist is refused by its name on every page that its address leads to", async (console) => {
  const { page } = console;
  for (
    const place of [
      "/streams/Order",
      "/streams/Order/x",
      "/projections/near?type=Order&lat=52.52&lng=13.405",
    ]
  ) {
    await console.go(place);
    await page.getByRole("alert").getByText('"Order" is not the name').waitFor();
  }
});

test("A reader with a key sees the streams, too", async (console) => {
  const { page } = console;
  await console.go(`/streams/order/${ORDERS.open}?event=0`);
  await page.getByRole("region", { name: "Event 0" }).getByText("fulfilment").waitFor();
}, { as: "reader" });
