/** Time travel: the state at every length, as the server has it; what changed; and by what. */

import assert from "node:assert/strict";
import type { Page } from "playwright-core";
import { CUSTOMER, ORDERS } from "./shop/console_shop.ts";
import { consoleTests } from "./shop/open_page.ts";

const test = consoleTests();

async function lineOf(page: Page, name: string): Promise<string> {
  const state = page.getByRole("region", { name: "State", exact: true });
  const line = state.locator(".json-line").filter({ has: page.getByText(name, { exact: true }) });
  return (await line.first().textContent())!;
}

test("The slider shows the state after each event, moved by the keyboard, and marks what changed", async (console) => {
  const { page } = console;
  await console.go(`/streams/order/${ORDERS.declined}?view=states`);
  const slider = page.getByRole("slider");
  await page.getByText("State after 2 of 2 events").waitFor();
  await page.getByText('"declined"', { exact: true }).first().waitFor();
  assert.match(await lineOf(page, "status"), /"declined"/);
  await page.locator(".json .changed").nth(1).waitFor();
  assert.equal(await page.locator(".json .changed").count(), 2);
  await console.picture("time_travel");
  await slider.focus();
  await page.keyboard.press("ArrowLeft");
  await page.getByText("State after 1 of 2 events").waitFor();
  assert.match(await lineOf(page, "status"), /"placed"/);
  await page.keyboard.press("Home");
  await page.getByText("Before the first event.").waitFor();
  await page.waitForURL(/length=0/);
  await console.checkAccess();
});

test("Any two lengths are compared", async (console) => {
  const { page, shop } = console;
  const { length } = await shop.db.customer!(CUSTOMER).length().orThrow();
  await console.go(`/streams/customer/${CUSTOMER}?view=states&base=1`);
  const changes = page.getByRole("region", { name: "Changes" });
  await changes.getByText("Changes since 1 event").waitFor();
  await changes.getByText("orders", { exact: true }).waitFor();
  assert.equal(length, 4);
  assert.match((await changes.textContent())!, /orders.*nothing → 3/);
});

test("A field names the event that last set it", async (console) => {
  const { page } = console;
  await console.go(`/streams/order/${ORDERS.paid}?view=states`);
  await page.getByRole("button", { name: "Which event set status" }).click();
  const note = page.getByRole("status").filter({ hasText: "was last set by" });
  await note.getByText("was last set by event 1").waitFor();
  assert.match(
    (await note.innerText()).replace(/\s+/g, " "),
    /event 1, was_paid: "placed" → "paid"/,
  );
  await console.picture("time_travel_blame");
  await console.checkAccess();
  await page.getByRole("button", { name: "Which event set customer" }).click();
  await note.getByText("was last set by event 0").waitFor();
  assert.match(await note.innerText(), /was_placed/);
  assert.match(await note.innerText(), new RegExp(`nothing → "${CUSTOMER}"`));
  await page.getByRole("link", { name: "event 0", exact: true }).click();
  await page.getByRole("region", { name: "Event 0" }).waitFor();
});

test(
  "With a key, which cannot read the spec, the server is asked for the states",
  async (console) => {
    const { page } = console;
    const asked: string[] = [];
    page.on("request", (request) => asked.push(new URL(request.url()).search));
    await console.go(`/streams/order/${ORDERS.declined}?view=states`);
    await page.getByText('"declined"', { exact: true }).first().waitFor();
    assert.ok(asked.includes("?at_length=2"), asked.join(" "));

    // Names of fields are data: they pass for nothing else, however they are made.
    await page.route("**/*at_length=2", async (route) => {
      const answer = await (await route.fetch()).json();
      const data = { ...answer.data, "note.\u202e: <b>": 1, ["x".repeat(100_000)]: 2 };
      await route.fulfill({ json: { ...answer, data } });
    });
    await page.reload();
    const changes = page.getByRole("region", { name: "Changes" });
    await changes.getByText('"note.\\u202e: <b>"', { exact: true }).waitFor();
    const state = page.getByRole("region", { name: "State", exact: true });
    await state.locator("bdi").getByText('"note.\\u202e: <b>"', { exact: true }).waitFor();
    assert.ok((await page.locator("main").innerText()).length < 5_000);
    await console.checkAccess();
  },
  { as: "reader" },
);
