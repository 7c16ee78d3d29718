/** Every alert rule that the documents give has a runbook, and every runbook an alert rule. */

import assert from "node:assert/strict";
import { codeOf, fencedBlocks, markdownFiles, readText, tableRows } from "./markdown.ts";

const FOLDER = "docs/operate/runbooks";
/** A rule of Daybook's own, with all that is indented below it. */
const RULE = /^( *)- alert: (Daybook\w+)\n((?:\1 .*\n)*)/gm;

/** What a drill writes, and the name of a file. */
const OTHERS = /^daybook_(drill_|archive$)/;

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

Deno.test("every metric of a runbook or of a page for operators is in the reference", () => {
  const known = new Set(
    tableRows(readText("docs/reference/monitoring.md")).map(([name]) => codeOf(name)),
  );
  for (const path of markdownFiles("docs/operate")) {
    for (const [name] of readText(path).matchAll(/\bdaybook_[a-z_]+[a-z]\b/g)) {
      if (OTHERS.test(name)) continue;
      const metric = name.replace(/_(bucket|sum|count)$/, "");
      assert.ok([...known].some((one) => one?.startsWith(metric)), `${path}: ${name}`);
    }
  }
});

for (const { alert } of rules) {
  Deno.test(`the runbook of ${alert} says how to look and what to do`, () => {
    const text = readText(`${FOLDER}/${alert}.md`);
    assert.ok(text.startsWith(`# ${alert}\n\n**`), "it begins with what it means");
    assert.ok(/\n## Look\n\n```text\n/.test(text) && text.includes("\n## Do\n"));
  });
}
