/**
 * Delays of scheduled events: 1 s to 366 days (`<n>s|m|h|d`). See docs/reference/reactions.md.
 */

import { strictEqual } from "node:assert/strict";
import fc from "fast-check";
import { parseDelay } from "../../../src/domain/reaction/schedule.ts";

const SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: 86_400 };
const YEAR_S = 366 * 86_400;

Deno.test("parseDelay() takes each whole number of a unit from 1 s to 366 days, and no other", () => {
  for (const [unit, seconds] of Object.entries(SECONDS)) {
    const most = YEAR_S / seconds;
    for (const count of [0, 1, 2, most - 1, most, most + 1]) {
      const parsed = parseDelay(`${count}${unit}`);
      strictEqual(parsed.ok, count >= 1 && count <= most, `${count}${unit}`);
      if (parsed.ok) strictEqual(parsed.ms, count * seconds * 1_000);
    }
  }
});

Deno.test("parseDelay() refuses every text that is no count with a unit", () => {
  fc.assert(fc.property(fc.string({ maxLength: 8 }), (text) => {
    const unit = text.at(-1) ?? "";
    const digits = text.slice(0, -1);
    const isCount = digits !== "" && String(Number(digits)) === digits && Number(digits) > 0;
    if (isCount && Object.hasOwn(SECONDS, unit)) return;
    strictEqual(parseDelay(text).ok, false, text);
  }));
});
