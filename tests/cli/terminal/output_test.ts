/** What a server says cannot command the terminal that shows it. */

import assert from "node:assert/strict";
import { visible } from "../../../src/cli/terminal/output.ts";

Deno.test("visible() shows what a terminal would obey, and keeps our colours and lines", () => {
  const cases = [
    ["plain\ttext\nand more", "plain\ttext\nand more"],
    ["\x1b[31mred\x1b[0m", "\x1b[31mred\x1b[0m"],
    ["\x1b[2Jcleared", "\\u001b[2Jcleared"],
    ["\x1b]0;title\x07", "\\u001b]0;title\\u0007"],
    ["a\u009b2Jb", "a\\u009b2Jb"],
    ["\u202eabc\r", "\\u202eabc\\u000d"],
    ["naïve ✓ 漢字 😀", "naïve ✓ 漢字 😀"],
  ] as const;
  for (const [text, shown] of cases) assert.equal(visible(text), shown);
});
