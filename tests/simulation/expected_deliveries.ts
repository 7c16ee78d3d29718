/**
 * Which listener gets which event, by the specs of `world_spec.ts`, implemented a second time.
 */

import type { StoredEvent } from "../../src/domain/event.ts";
import type { SpecNumber } from "./world_spec.ts";

export const LISTENERS = ["hook", "books"] as const;
export type ListenerName = typeof LISTENERS[number];

export function hears(listener: ListenerName, { key, type }: StoredEvent, spec: SpecNumber) {
  if (listener === "books") return spec !== 3 && key.startsWith("ledger:") && type === "was_noted";
  return key.startsWith("payment:") ||
    (key.startsWith("order:") && (type === "was_reminded" || type === "was_called_off"));
}

/** The listener's URL and secret under this spec. */
export function addressOf(listener: ListenerName, spec: SpecNumber) {
  return listener === "books"
    ? { url: "https://books.example/", secret: "a secret of the books" }
    : { url: `https://hook.example/spec-${spec}`, secret: `a secret of spec ${spec}` };
}
