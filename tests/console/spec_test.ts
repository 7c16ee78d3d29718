/** The spec in the console: its versions. */

import assert from "node:assert/strict";
import { consoleTests } from "./shop/open_page.ts";

const SCRIPT = `<img src=x onerror="globalThis.wasRun = true">`;

/** The current spec with another description, which is hostile. */
const test = consoleTests(async ({ admin }) => {
  const { spec } = await admin.specs.current().orThrow();
  const text = JSON.stringify({ ...spec, description: `\u202e${SCRIPT}` });
  await admin.deploy(JSON.parse(text)).orThrow();
});

test("The current spec and all versions are shown, and nothing in them runs", async (console) => {
  const { page, shop } = console;
  await console.go("/spec");
  await page.getByRole("heading", { name: "Version 2, the current one" }).waitFor();
  const rows = page.getByRole("table", { name: "Versions of the spec" }).getByRole("row");
  await rows.nth(2).getByText("current").waitFor();
  const { data } = await shop.admin.specs.listPage().orThrow();
  const shown = (await rows.locator("td:nth-child(3)").allTextContents()).sort();
  assert.deepEqual(shown, data.map(({ created_at }) => created_at).sort());
  await page.getByText("onerror").waitFor();
  assert.equal(await page.evaluate("globalThis.wasRun"), undefined);
  assert.equal(await page.locator("main img").count(), 0);
  await console.picture("spec");
  await console.checkAccess();
});

test("A key sees that the page is for operators", async (console) => {
  const { page } = console;
  assert.equal(await page.getByRole("link", { name: "Spec" }).count(), 0);
  await console.go("/spec");
  await page.getByRole("heading", { name: "For operators" }).waitFor();
}, { as: "writer" });
