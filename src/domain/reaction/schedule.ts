/**
 * Compiles when a scheduled event fires, and what cancels it. See docs/reference/reactions.md.
 *
 * The delay is `"delay": "24h"` or `"delay_ms": 86400000`: 1 s to 366 days, as text in the form
 * `<n>s|m|h|d`. Either key may hold a path; then the trigger gives the delay, and it is checked
 * when the trigger is written.
 */

import { addFault, childSite, type Evaluation, type Site } from "../handler/evaluation.ts";
import { excerpt } from "../handler/path.ts";
import { templateAt } from "../handler/template.ts";
import { describeKind, type JsonObject, type JsonValue } from "../json.ts";
import { limits } from "../limits.ts";
import { failed, type Resolved, resolvedTo, SKIPPED } from "./resolved.ts";
import { spend } from "../budget.ts";
import { STEP_UNITS } from "../handler/budget.ts";
import type { CancelRule } from "./action.ts";
import { fieldsAt, textAt } from "./form.ts";
import { streamAt, type StreamField } from "./stream.ts";
import { checkEventType, type Terms } from "./terms.ts";

const DELAY = /^([1-9][0-9]{0,9})([smhd])$/;
const UNIT_MS: Readonly<Record<string, number>> = {
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

const DELAY_HINT = 'Write a whole number with its unit: "30s", "15m", "24h" or "7d"; 1s to 366d';
const DELAY_MS_HINT = "Write whole milliseconds: 1000 (1 s) to 31622400000 (366 days)";

type Parsed =
  | { readonly ok: true; readonly ms: number }
  | { readonly ok: false; readonly message: string };

/** Milliseconds of a text such as `24h`, or why it is not a delay. */
export function parseDelay(text: string): Parsed {
  const [, count, unit] = DELAY.exec(text) ?? [];
  if (count === undefined) return { ok: false, message: `"${excerpt(text)}" is not a delay` };
  return within(Number(count) * UNIT_MS[unit!]!, `"${text}"`);
}

function within(ms: number, shown: string): Parsed {
  if (ms >= limits.scheduleDelayMsMin && ms <= limits.scheduleDelayMsMax) return { ok: true, ms };
  return { ok: false, message: `${shown} is not between 1 s and 366 days` };
}

/** The value of `delay` or `delay_ms` in milliseconds, or why it is invalid. */
function readDelay(key: DelayKey, value: JsonValue): Parsed {
  if (key === "delay") {
    if (typeof value === "string") return parseDelay(value);
    return { ok: false, message: "A delay must be a string" };
  }
  if (typeof value !== "number" || !Number.isInteger(value)) {
    return { ok: false, message: "delay_ms is not a whole number" };
  }
  return within(value, `${value} ms`);
}

type DelayKey = "delay" | "delay_ms";

export type CompiledDelay = (evaluation: Evaluation) => Resolved<number>;

/** Compiles the delay of a `schedule`, which has exactly one of the two keys. */
export function delayAt(fields: JsonObject, site: Site): CompiledDelay {
  const keys = (["delay", "delay_ms"] as const).filter((key) => Object.hasOwn(fields, key));
  const [key] = keys;
  if (key === undefined) {
    addFault(childSite(site, "delay"), "missing_key", "There is no delay", DELAY_HINT);
    return () => SKIPPED;
  }
  if (keys.length > 1) {
    const message = "delay and delay_ms exclude each other: give one";
    addFault(childSite(site, "delay_ms"), "delay_invalid", message, "Keep one of the two");
  }
  return keyedDelay(key, fields[key] as JsonValue, childSite(site, key));
}

function keyedDelay(key: DelayKey, definition: JsonValue, site: Site): CompiledDelay {
  const faultsBefore = site.faults.length;
  const template = templateAt(definition, site);
  if (site.faults.length > faultsBefore) return () => SKIPPED;
  if (template.constant === undefined && !Array.isArray(definition)) {
    return (evaluation) => {
      const value = template.view(evaluation);
      if (value === undefined) return SKIPPED;
      const parsed = readDelay(key, value);
      return parsed.ok ? resolvedTo(parsed.ms) : failed(`${key}: ${parsed.message}`);
    };
  }
  const parsed = readDelay(key, template.constant ?? null);
  if (parsed.ok) return () => resolvedTo(parsed.ms);
  const hint = key === "delay" ? DELAY_HINT : DELAY_MS_HINT;
  addFault(site, "delay_invalid", parsed.message, hint);
  return () => SKIPPED;
}

const CANCEL_HINT =
  'For example [{"aggregate_type": "order", "id": "$.key", "event_type": "was_cancelled"}]';

type CompiledCancelRules = (evaluation: Evaluation) => Resolved<readonly CancelRule[]>;

interface RuleParts {
  readonly stream: StreamField;
  readonly eventType: string;
}

/**
 * Compiles `cancel_on`: the later events that cancel a scheduled event if they are written before
 * `fire_at`. A rule whose id is an optional path that finds nothing is left out.
 *
 * Both types are written in the spec itself, and only the id may be a path. The spec therefore
 * determines which event types a scheduled event can wait for, and writes of all other types need
 * not look.
 */
export function cancelRulesAt(
  definition: JsonValue,
  site: Site,
  terms: Terms,
): CompiledCancelRules {
  if (!Array.isArray(definition)) {
    const message = `cancel_on must be an array, not ${describeKind(definition)}`;
    addFault(site, "wrong_type", message, CANCEL_HINT);
    return () => resolvedTo([]);
  }
  if (definition.length > limits.cancelRulesMax) {
    const message = `cancel_on has more than ${limits.cancelRulesMax} rules`;
    addFault(site, "too_many", message, "Let the events that end the wait share one event type");
    return () => resolvedTo([]);
  }
  const rules = definition
    .map((each, index) => ruleAt(each, childSite(site, index), terms))
    .filter((rule) => rule !== undefined);
  return (evaluation) => resolveRules(rules, evaluation);
}

function ruleAt(definition: JsonValue, site: Site, terms: Terms): RuleParts | undefined {
  const fields = fieldsAt(definition, ["aggregate_type", "id", "event_type"], [], site);
  if (fields === undefined) return undefined;
  const stream = streamAt(fields, site, terms);
  const eventType = textAt(fields, "event_type", site);
  if (stream !== undefined && stream.aggregateType === undefined) {
    refusePath("aggregate_type", site);
  }
  if (eventType === undefined) return undefined;
  if (eventType.constant === undefined) {
    refusePath("event_type", site);
    return undefined;
  }
  const typeSite = childSite(site, "event_type");
  checkEventType(eventType.constant, stream?.aggregateType, typeSite, terms);
  if (stream?.aggregateType === undefined) return undefined;
  terms.watched.add(`${stream.aggregateType}.${eventType.constant}`);
  return { stream, eventType: eventType.constant };
}

function refusePath(key: "aggregate_type" | "event_type", site: Site): void {
  addFault(
    childSite(site, key),
    "cancel_rule_dynamic",
    `${key} of a cancel_on rule cannot be a path: it must be known at deploy`,
    "Write the name itself, one rule for each; only the id may be a path",
  );
}

function resolveRules(
  rules: readonly RuleParts[],
  evaluation: Evaluation,
): Resolved<readonly CancelRule[]> {
  const found: CancelRule[] = [];
  for (const [index, { stream, eventType }] of rules.entries()) {
    spend(evaluation.budget, STEP_UNITS);
    const place = stream.resolve(evaluation);
    if (place.kind === "failure") return failed(`cancel_on[${index}].${place.message}`);
    if (place.kind === "value") found.push({ key: place.value.key, eventType });
  }
  return resolvedTo(found);
}
