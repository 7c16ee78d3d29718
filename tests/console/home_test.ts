/** The console as a whole, and its first page. */

import assert from "node:assert/strict";
import { consoleTests } from "./shop/open_page.ts";

const test = consoleTests();

test("An operator's token in the address opens the console and leaves the address", async (console) => {
  const { page, shop } = console;
  await page.getByRole("link", { name: "order", exact: true }).waitFor();
  assert.ok(!page.url().includes(shop.token));
  assert.equal(await page.locator(".environment").textContent(), "test");
  await console.picture("home");
  await console.checkAccess();
});

test("Nobody sees anything before signing in", async (console) => {
  const { page, shop } = console;
  await page.getByLabel("API key or operator token").fill(shop.readKey);
  await console.checkAccess();
  await page.getByRole("button", { name: "Open" }).click();
  await page.getByRole("link", { name: "order", exact: true }).waitFor();
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByLabel("API key or operator token").waitFor();
  assert.equal(await page.evaluate(() => sessionStorage.length), 0);
}, { as: "nobody" });

test("A key that the server does not know gives a sentence that says so", async ({ page }) => {
  await page.getByLabel("API key or operator token").fill("dbk_0_test_nobodyKnowsIt");
  await page.getByRole("button", { name: "Open" }).click();
  await page.getByText("no longer accepts this token or key").waitFor();
}, { as: "nobody" });
