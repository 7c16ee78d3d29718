/** `SECURITY.md`: every threat names an answer and what shows it, and that is there. */

import assert from "node:assert/strict";
import { sectionOf, tableRows } from "./markdown.ts";

const TEXT = await Deno.readTextFile(new URL("../../SECURITY.md", import.meta.url));

Deno.test("every threat has an answer and names tests or checks that are there", async () => {
  const threats = tableRows(sectionOf(TEXT, "## Threats and answers"));
  assert.ok(threats.length > 10);
  for (const [threat, answer, shown] of threats) {
    assert.ok(answer !== undefined && answer.length > 0, threat);
    const paths = [...(shown ?? "").matchAll(/`([^`]+)`/g)].map(([, path]) => path!);
    assert.ok(paths.length > 0, `nothing shows the answer to: ${threat}`);
    for (const path of paths) await Deno.stat(new URL(`../../${path}`, import.meta.url));
  }
});

Deno.test("every path that the text names is there", async () => {
  const paths = [...TEXT.matchAll(/`((?:src|tests|scripts)\/[^`*]+)`/g)].map(([, path]) => path!);
  assert.ok(paths.length > 20);
  for (const path of paths) await Deno.stat(new URL(`../../${path}`, import.meta.url));
});
