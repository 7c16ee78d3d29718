/** Reactions in the console: timers, sagas, deliveries, and what waits. */

import assert from "node:assert/strict";
import { createAdmin } from "@daybook/client/admin";
import { ORDERS } from "./shop/console_shop.ts";
import { consoleTests } from "./shop/open_page.ts";

const DOOMED = "D00MED001";

const test = consoleTests(async ({ db }) => {
  await db.order!(DOOMED).was_placed!({ customer: "ADA000001", total: 1 }).orThrow();
});

test("What will be written later is listed with its cause", async (console) => {
  const { page, shop } = console;
  await console.go("/reactions");
  const rows = page.getByRole("table", { name: "Scheduled events" }).getByRole("row");
  const row = rows.filter({ hasText: `order:${ORDERS.open}` });
  await row.getByText("was_declined").waitFor();
  await row.getByRole("link", { name: "was_placed" }).waitFor();
  const { data } = await shop.db.$scheduled.listPage().orThrow();
  assert.equal(await rows.count(), data.length + 1);
  await page.getByText("Cancelling needs an API key").waitFor();
  const deadline = page.getByRole("table", { name: "Deadlines of sagas" }).getByRole("row")
    .filter({ hasText: `payment:${ORDERS.open}` });
  assert.match(
    (await deadline.textContent())!,
    /was_captured or was_refused to payment:.*fulfilment fails in the step charge/,
  );
  await deadline.getByRole("link", { name: "fulfilment" }).waitFor();
  await console.picture("scheduled");
  await console.checkAccess();
});

test("A timer is cancelled once the user has confirmed it", async (console) => {
  const { page, shop } = console;
  const timersOf = async () =>
    (await shop.db.$scheduled.listPage().orThrow()).data
      .filter(({ key }) => key === `order:${DOOMED}`).length;
  await console.go("/reactions/scheduled");
  const row = page.getByRole("table", { name: "Scheduled events" }).getByRole("row")
    .filter({ hasText: `order:${DOOMED}` });
  await row.getByRole("button", { name: "Cancel" }).click();
  await page.getByRole("button", { name: "Keep it" }).click();
  assert.equal(await timersOf(), 1);
  await row.getByRole("button", { name: "Cancel" }).click();
  await page.getByRole("button", { name: "Cancel the event" }).click();
  await row.waitFor({ state: "detached" });
  assert.equal(await timersOf(), 0);
}, { as: "writer" });

test(
  "A key that may only read cannot cancel, and the page says what the server said",
  async (console) => {
    const { page } = console;
    await console.go("/reactions/scheduled");
    await page.getByRole("button", { name: "Cancel" }).first().click();
    await page.getByRole("button", { name: "Cancel the event" }).click();
    await page.getByRole("alert").getByText("forbidden").waitFor();
  },
  { as: "reader" },
);

test("A saga that was undone shows each step, its end and the reason", async (console) => {
  const { page } = console;
  await console.go("/reactions/sagas?state=compensated");
  await page.getByRole("link", { name: "fulfilment" }).click();
  // The table of sagas has a link to the stream, too: only the history shows that this one is open.
  const history = page.getByRole("list", { name: "History" }).getByRole("listitem");
  await history.filter({ hasText: "compensated" }).waitFor();
  const steps = await history.allTextContents();
  assert.deepEqual(
    steps.map((text) => /^(\w+) (\w+)/.exec(text)!.slice(1).join(" ")),
    [
      "reserve emitted",
      "reserve completed",
      "charge emitted",
      "charge failed",
      "reserve compensated",
    ],
  );
  await console.picture("saga");
  await console.checkAccess();
});

test("A saga that waits says for what", async (console) => {
  const { page } = console;
  await console.go("/reactions/sagas?state=running");
  const row = page.getByRole("row").filter({ hasText: `order:${ORDERS.open}` });
  await row.getByRole("link", { name: "fulfilment" }).click();
  await page.getByText(/Waits in step charge for was_captured or was_refused of/).waitFor();
});

test("A listener shows its deliveries with their tries, and sends one again", async (console) => {
  const { page, shop } = console;
  await console.go("/reactions/listeners");
  await page.getByRole("link", { name: "billing" }).click();
  await page.getByRole("table", { name: "Deliveries to billing" }).waitFor();
  await console.checkAccess();
  await page.getByLabel("State", { exact: true }).selectOption("delivered");
  const row = page.getByRole("row").filter({ hasText: `order:${ORDERS.paid}, event 0` });
  await row.locator("summary").click();
  await row.getByText(/200 after \d+ ms/).waitFor();
  let calls = 0;
  await page.route(`${shop.base}/_listeners/billing/replay`, async (route) => {
    calls += 1;
    // A proxy has lost the first answer: it is not known what was sent, so nothing is sent again.
    if (calls > 1) return await route.continue();
    await route.fulfill({ status: 502, body: "lost" });
  });
  await row.getByRole("button", { name: "Send again" }).dblclick();
  await page.getByRole("alert").waitFor();
  assert.equal(calls, 1);
  await row.getByRole("button", { name: "Send again" }).click();
  await page.getByText("One delivery is sent again.").waitFor();
  await page.getByLabel("Send again all since").fill("2000-01-01T00:00");
  await page.locator("form").getByRole("button", { name: "Send again", exact: true }).click();
  await page.getByRole("dialog").getByRole("heading").waitFor();
  assert.equal(calls, 2);
  await console.checkAccess();
  await page.getByRole("button", { name: "Send them again" }).click();
  await page.getByText(/deliveries are sent again/).waitFor();
  assert.equal(calls, 3);
  const { data } = await shop.db.$listeners.listPage().orThrow();
  assert.equal(data[0]!.name, "billing");
}, { as: "writer" });

test(
  "What is too much for one call is sent again by several, each from where the last one ended",
  async (console) => {
    const { page, shop } = console;
    const part = (replayed: number, next_start?: string) => ({
      status: 202,
      json: { ok: true, replayed, truncated: next_start !== undefined, next_start },
    });
    const answers = [
      part(1_000, "dlv_1"),
      { status: 502, body: "lost" },
      part(1_000, "dlv_2"),
      part(5),
      part(1_000, "dlv_3"),
    ];
    const asked: { since: string; start?: string }[] = [];
    const left = Promise.withResolvers<void>();
    await page.route(`${shop.base}/_listeners/billing/replay`, async (route) => {
      asked.push(route.request().postDataJSON());
      if (asked.length === 5) await left.promise;
      await route.fulfill(answers[asked.length - 1]!);
    });
    await console.go("/reactions/listeners/billing");
    await page.getByLabel("Send again all since").fill("2000-01-01T00:00");
    const begin = page.locator("form").getByRole("button", { name: "Send again", exact: true });
    const confirm = page.getByRole("button", { name: "Send them again" });
    await begin.click();
    await confirm.click();
    // The answer of the second call is lost, so whether to go on is the user's choice.
    await page.getByRole("dialog").getByRole("alert").waitFor();
    await page.getByText("1,000 deliveries are sent again, and there are more.").waitFor();
    assert.equal(asked.length, 2);
    await confirm.click();
    await page.getByText("2,005 deliveries are sent again.").waitFor();
    assert.deepEqual(asked.map(({ start }) => start), [undefined, "dlv_1", "dlv_1", "dlv_2"]);
    assert.equal(new Set(asked.map(({ since }) => since)).size, 1);
    // Whoever leaves the dialog has it end behind the call that is on its way.
    await begin.click();
    await confirm.click();
    await page.getByRole("button", { name: "Leave it as it is" }).click();
    await page.locator("dialog").waitFor({ state: "detached" });
    left.resolve();
    await page.getByText("1,000 deliveries are sent again, and there are more.").waitFor();
    assert.equal(asked.length, 5);
  },
  { as: "writer" },
);

test("An operator pauses reactions after a question, and resumes them", async (console) => {
  const { page, shop } = console;
  const isPaused = async () => (await shop.admin.reactions.pending().orThrow()).paused;
  await console.go("/reactions/pending");
  await page.getByRole("button", { name: "Pause" }).click();
  await page.getByRole("dialog").getByText("the instance default in test").waitFor();
  await page.getByRole("dialog").getByRole("button", { name: "Pause", exact: true }).click();
  await page.getByText(/Paused/).waitFor();
  assert.equal(await isPaused(), true);
  await console.checkAccess();
  await page.getByRole("button", { name: "Resume" }).click();
  await page.getByRole("button", { name: "Pause" }).waitFor();
  assert.equal(await isPaused(), false);
});

test("Without errors the page says where they would come from", async (console) => {
  await console.go("/reactions/errors");
  await console.page.getByRole("heading", { name: "No errors" }).waitFor();
  await console.checkAccess();
});

// The last one, for its second instance is what the others would see.
test("With the key of another instance nothing is cancelled or sent again", async (console) => {
  const { page, shop } = console;
  const other = await shop.admin.instances.create({ slug: "other" }).orThrow();
  const { key } = await createAdmin({ url: shop.base, token: shop.token, instanceId: other.id })
    .keys.issue({ name: "other", scope: "write" }, { environment: "test" }).orThrow();
  const keep = (text: string) => sessionStorage.setItem("daybook.credentials", text);
  await page.evaluate(keep, JSON.stringify({ token: shop.token, key }));
  await page.reload();
  await console.go(`/reactions/scheduled?instance=${shop.instanceId}`);
  await page.getByText("the key of this tab belongs to another one").waitFor();
  await page.getByRole("row").nth(1).waitFor();
  assert.equal(await page.getByRole("button", { name: "Cancel" }).count(), 0);
  await console.go(`/reactions/listeners/billing?instance=${shop.instanceId}`);
  await page.getByText("the key of this tab belongs to another one").waitFor();
  await page.getByRole("row").nth(1).waitFor();
  assert.equal(await page.getByRole("button", { name: "Send again" }).count(), 0);
  await page.evaluate(keep, JSON.stringify({ token: shop.token, key: shop.writeKey }));
  await page.reload();
  await page.getByRole("button", { name: "Send again" }).first().waitFor();
});
