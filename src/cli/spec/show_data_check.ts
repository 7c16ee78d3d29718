/** Shows what a deploy would mean for what is stored: refused events, and states that change. */

import { isJsonObject, type JsonValue } from "../../domain/json.ts";
import type { DataCheck } from "../../domain/spec/data_check.ts";
import type { Paint } from "../terminal/output.ts";

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
  for (const { event_type, guard, message, count: times, examples } of check.guards?.failed ?? []) {
    const name = `${event_type} guards[${guard}]`;
    lines.push(`  ${paint("yellow", name)}: ${counted(times, "event")} would not have passed`);
    const shown = examples.slice(0, EXAMPLES_SHOWN).map(({ key, id }) => `${key}#${Number(id)}`);
    lines.push(`      ${message}: ${shown.join(", ")}`);
  }
  for (const { type, count: times, examples } of check.changed) {
    const verb = times === 1 ? "changes" : "change";
    lines.push(`  ${paint("blue", type)}: ${counted(times, "state")} ${verb}`);
    for (const { key, before, after, error } of examples.slice(0, EXAMPLES_SHOWN)) {
      lines.push(`      ${key}${error === undefined ? "" : `: ${error}`}`);
      const [was, is] = onlyDifferent(before, after);
      lines.push(`        ${paint("red", `- ${JSON.stringify(was)}`)}`);
      lines.push(`        ${paint("green", `+ ${JSON.stringify(is)}`)}`);
    }
  }
  if (check.refused.length === 0) lines.push("  no stored event would be refused");
  if (check.changed.length === 0) lines.push("  no state changes");
  return lines.join("\n");
}

/** Two states without the fields that are the same in both. */
function onlyDifferent(before: JsonValue, after: JsonValue): [JsonValue, JsonValue] {
  if (!isJsonObject(before) || !isJsonObject(after)) return [before, after];
  const differs = ([key]: [string, JsonValue]) =>
    JSON.stringify(before[key]) !== JSON.stringify(after[key]);
  return [
    Object.fromEntries(Object.entries(before).filter(differs)),
    Object.fromEntries(Object.entries(after).filter(differs)),
  ];
}

/** `1 event`, `2 events`. */
export function counted(number: number, word: string): string {
  return `${number} ${word}${number === 1 ? "" : "s"}`;
}
