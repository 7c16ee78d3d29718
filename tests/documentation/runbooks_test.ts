/** Every alert rule that the documents give has a runbook, and every runbook an alert rule. */

import assert from "node:assert/strict";
import { fencedBlocks, markdownFiles, readText } from "./markdown.ts";

const FOLDER = "docs/operate/runbooks";
/** A rule of Daybook's own, with all that is indented below it. */
const RULE = /^( *)- alert: (Daybook\w+)\n((?:\1 .*\n)*)/gm;

const rules = markdownFiles("docs")
  .flatMap((path) => fencedBlocks(readText(path)))
  .filter(({ language }) => language === "yaml")
  .flatMap(({ text }) => [...text.matchAll(RULE)])
  .map(([, , alert, body]) => ({ alert: alert!, body: body! }));

Deno.test("every alert has a runbook of its name, and every runbook an alert", () => {
  const alerts = rules.map(({ alert }) => `${FOLDER}/${alert}.md`).toSorted();
  assert.ok(alerts.length >= 8, "the rules are found");
  assert.deepEqual(markdownFiles(FOLDER), alerts);
});

Deno.test("every alert leads to its runbook", () => {
  for (const { alert, body } of rules) {
    const [, place] = /runbook_url: "http:\/\/[^"/]+\/_docs\/([^"]+)"/.exec(body) ?? [];
    assert.equal(place, `operate/runbooks/${alert}`, body);
  }
});

for (const { alert } of rules) {
  Deno.test(`the runbook of ${alert} says how to look and what to do`, () => {
    const text = readText(`${FOLDER}/${alert}.md`);
    assert.ok(text.startsWith(`# ${alert}\n\n**`), "it begins with what it means");
    assert.ok(/\n## Look\n\n```text\n/.test(text) && text.includes("\n## Do\n"));
  });
}
