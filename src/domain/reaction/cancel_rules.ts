/**
 * Compiles `cancel_on`: the later events that cancel a scheduled event.
 *
 * A matching event cancels it if it is written before `fire_at`. Both types are written in the
 * spec itself, and only the id may be a path. The spec therefore determines which event types a
 * scheduled event can wait for, and writes of all other types need not look. See
 * docs/reference/reactions.md.
 */

import { spend } from "../budget.ts";
import { STEP_UNITS } from "../handler/budget.ts";
import { addFault, childSite, type Evaluation, type Site } from "../handler/evaluation.ts";
import { describeKind, type JsonValue } from "../json.ts";
import { limits } from "../limits.ts";
import type { CancelRule } from "./action.ts";
import { fieldsAt, textAt } from "./form.ts";
import { failed, type Resolved, resolved } from "./resolved.ts";
import { streamAt, type StreamField } from "./stream.ts";
import { checkEventType, type Terms } from "./terms.ts";

const HINT =
  'For example [{"aggregate_type": "order", "id": "$.key", "event_type": "was_cancelled"}]';

export type CompiledCancelRules = (evaluation: Evaluation) => Resolved<readonly CancelRule[]>;

interface RuleParts {
  readonly stream: StreamField;
  readonly eventType: string;
}

/** Compiles the list. A rule whose id is an optional path that finds nothing is left out. */
export function cancelRulesAt(
  definition: JsonValue,
  site: Site,
  terms: Terms,
): CompiledCancelRules {
  if (!Array.isArray(definition)) {
    const message = `cancel_on must be an array, not ${describeKind(definition)}`;
    addFault(site, "wrong_type", message, HINT);
    return () => resolved([]);
  }
  if (definition.length > limits.cancelRulesMax) {
    const message = `cancel_on has more than ${limits.cancelRulesMax} rules`;
    addFault(site, "too_many", message, "Let the events that end the wait share one event type");
    return () => resolved([]);
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
  return resolved(found);
}
