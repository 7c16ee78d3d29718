/** Shows what a deploy would mean for what is stored: refused events, and states that change. */

import type { JsonValue } from "../domain/json.ts";
import type { Paint } from "./output.ts";

/** As the API answers with `check_data`. */
export interface DataCheck {
  /** How many stored events were tried. */
  readonly events: number;
  readonly refused: readonly {
    readonly event_type: string;
    readonly count: number;
    readonly examples: readonly {
      readonly key: string;
      readonly id: string;
      readonly details: readonly { readonly path: string; readonly message: string }[];
    }[];
  }[];
  /** How many aggregates were folded under both specs. */
  readonly aggregates: number;
  readonly changed: readonly {
    readonly type: string;
    readonly count: number;
    readonly examples: readonly {
      readonly key: string;
      readonly before: JsonValue;
      readonly after: JsonValue;
      /** Why there is no state on one side, which is null there. */
      readonly error?: string;
    }[];
  }[];
  /** False if there was more than the check looks at. */
  readonly complete: boolean;
}

const EXAMPLES_SHOWN = 3;

export function showDataCheck(check: DataCheck, paint: Paint): string {
  const part = check.complete ? "" : " (a part of what is stored)";
  const lines = [
    `Tried ${counted(check.events, "stored event")} and ` +
    `${counted(check.aggregates, "aggregate")}${part}:`,
  ];
  for (const { event_type, count: times, examples } of check.refused) {
    lines.push(
      `  ${paint("yellow", event_type)}: ${counted(times, "event")} would be refused today`,
    );
    for (const { key, id, details } of examples.slice(0, EXAMPLES_SHOWN)) {
      const index = /^\d+$/.test(id) ? Number(id) : id;
      const why = details.map(({ path, message }) => `${path} ${message}`).join(", ");
      lines.push(`      ${key}#${index}: ${why}`);
    }
  }
  for (const { type, count: times, examples } of check.changed) {
    const verb = times === 1 ? "changes" : "change";
    lines.push(`  ${paint("blue", type)}: ${counted(times, "state")} ${verb}`);
    for (const { key, before, after, error } of examples.slice(0, EXAMPLES_SHOWN)) {
      lines.push(`      ${key}${error === undefined ? "" : `: ${error}`}`);
      lines.push(`        ${paint("red", `- ${JSON.stringify(before)}`)}`);
      lines.push(`        ${paint("green", `+ ${JSON.stringify(after)}`)}`);
    }
  }
  if (check.refused.length === 0) lines.push("  no stored event would be refused");
  if (check.changed.length === 0) lines.push("  no state changes");
  return lines.join("\n");
}

/** `1 event`, `2 events`. */
export function counted(number: number, word: string): string {
  return `${number} ${word}${number === 1 ? "" : "s"}`;
}
