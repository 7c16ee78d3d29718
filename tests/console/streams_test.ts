/** Streams in the console: found by type and id, their events, and what an event has set off. */

import assert from "node:assert/strict";
import { CUSTOMER, ORDERS } from "./shop/console_shop.ts";
import { consoleTests } from "./shop/open_page.ts";

const LONG = "10NG00001";
const LONG_EVENTS = 1_200;
const LAST = new RegExp(`^${LONG_EVENTS - 1} was_noted`);
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
