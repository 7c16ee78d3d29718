/** The spec in the console: its versions, the editor, and what a deploy would do. */

import assert from "node:assert/strict";
import type { Locator } from "playwright-core";
import { consoleTests, type OpenConsole } from "./shop/open_page.ts";

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

function editorOf({ page }: OpenConsole): Locator {
  return page.getByRole("textbox", { name: "Spec as JSON" });
}

function findingsOf({ page }: OpenConsole): Locator {
  return page.getByRole("list", { name: "What is wrong with the spec, and warnings" });
}

/** Replaces the whole text, by keyboard. */
async function typeSpec(console: OpenConsole, text: string): Promise<void> {
  await editorOf(console).focus();
  await console.page.keyboard.press("Control+A");
  await console.page.keyboard.insertText(text);
}

test("The editor says at which line a text is no JSON, and a spec refused", async (console) => {
  const { page, shop } = console;
  await console.go("/spec/edit");
  await page.getByText("The server would take this spec.").waitFor();
  const { spec } = await shop.admin.specs.current().orThrow();
  const lines = JSON.stringify(spec, null, 2).split("\n");
  const line = lines.findIndex((text) => text.includes('"status"')) + 1;
  const faulty = lines.with(line - 1, lines[line - 1]!.replace('"target"', '"targett"'));
  await typeSpec(console, faulty.join("\n"));
  await page.getByText("The server refuses this spec.").waitFor();
  const button = findingsOf(console).getByRole("button", { name: `Line ${line}` }).first();
  await button.focus();
  await console.picture("spec_refused");
  await console.checkAccess();
  await page.keyboard.press("Enter");
  await page.locator(".cm-content:focus").waitFor();
  await page.locator(".cm-lintRange-error").first().waitFor();
  await typeSpec(console, '{\n  "aggregate_types": {,\n}');
  await findingsOf(console).getByRole("button", { name: "Line 2" }).waitFor();
  await findingsOf(console).getByText("This is not JSON").waitFor();
  await page.reload();
  await findingsOf(console).getByText("This is not JSON").waitFor();
  await page.getByRole("button", { name: "Back to version 2" }).click();
  await page.getByText("The server would take this spec.").waitFor();
});

test("Ctrl+Space offers the keys of the place, and one is taken by Enter", async (console) => {
  const { page } = console;
  await console.go("/spec/edit");
  await page.getByText("The server would take this spec.").waitFor();
  await typeSpec(console, '{ "aggregate_types": { "note": { "events": { "was_written": { ');
  await page.keyboard.press("Control+Space");
  const offered = page.getByRole("listbox").getByRole("option");
  await offered.filter({ hasText: "implications" }).waitFor();
  await console.picture("spec_completion");
  await console.checkAccess();
  await page.keyboard.type('"allow');
  await offered.filter({ hasText: "schema" }).waitFor({ state: "detached" });
  // Sooner, the library takes Enter for a new line.
  await page.waitForTimeout(100);
  await page.keyboard.press("Enter");
  assert.match(await editorOf(console).textContent() ?? "", /"was_written": { "allow_skip_occ": $/);
});

test("Signing out leaves no draft behind in the tab", async (console) => {
  const { page } = console;
  await console.go("/spec/edit");
  await page.getByText("The server would take this spec.").waitFor();
  await typeSpec(console, "{}");
  await page.waitForFunction(() => Object.values(sessionStorage).includes("{}"));
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByRole("heading", { name: "Daybook" }).waitFor();
  assert.equal(await page.evaluate(() => sessionStorage.length), 0);
});
