/** Reads the key of an aggregate as people type it: `<type>:<id>`, as events carry it. */

import type { Output } from "../terminal/output.ts";
import { EXIT_MISUSED } from "../terminal/settings.ts";

export interface AggregateKey {
  readonly type: string;
  readonly id: string;
}

/** `order/X` is taken, too. The id may have a colon of its own, before its tag. */
export function parseAggregateKey(text: string): AggregateKey | undefined {
  const [, type, id] = /^([a-z][a-z0-9_]{0,63})[:/](.+)$/s.exec(text) ?? [];
  return type === undefined || id === undefined ? undefined : { type, id };
}

/** The path of the aggregate; ends the process if the text is no key. */
export function pathOfKey(output: Output, text: string): string {
  const key = parseAggregateKey(text);
  if (key !== undefined) return `/${key.type}/${encodeURIComponent(key.id)}`;
  return output.fail({
    error: `'${text}' is no key of an aggregate.`,
    error_type: "misused",
    hint: "Write <type>:<id>, for example order:7KD2M9QXA.",
  }, EXIT_MISUSED);
}
