/**
 * Compiles `modules.listeners`, and checks whether they may be deployed to an environment.
 *
 * Every fault is reported; no message ever contains a secret. See docs/reference/listeners.md.
 */

import { describeKind, isJsonObject, type JsonObject, type JsonValue } from "../json.ts";
import { type Steps } from "../fairness/pieces.ts";
import { limits } from "../limits.ts";
import { TextMap } from "../lookup/text_map.ts";
import type { Listener, ListenerFormat } from "../listener/definition.ts";
import { isPublicAddress, literalAddress } from "../listener/public_address.ts";
import { didYouMean } from "../nearest_name.ts";
import type { DeclaredTypes } from "../reaction/terms.ts";
import type { Violation } from "../refusal.ts";
import type { Environment } from "../tenant.ts";
import { createFaultList, type FaultList, joinKey, shorten } from "./fault_list.ts";
import { isSystemEventName } from "./document.ts";
import { checkTypeName } from "./declared_names.ts";
import { checkKnownKeys, requireObject, requireUniqueStrings } from "./shape.ts";

const LISTENER_KEYS = ["url", "secret", "events", "enabled", "format", "title", "description"];
const LISTENER_HINT =
  'For example {"url": "https://example.com/hook", "secret": "...", "events": ["order.*"]}.';
const URL_HINT = 'For example "https://example.com/hook".';
const SECRET_HINT =
  `Use ${limits.listenerSecretCharactersMin} to ${limits.listenerSecretCharactersMax} random characters.`;
const EVENTS_HINT = 'For example ["order.was_placed", "order.*"], or ["*"] for all events.';

/** The listeners of a spec by name. The result is usable only if no fault was reported. */
export function* compileListeners(
  document: JsonObject,
  declared: DeclaredTypes,
  faults: FaultList,
): Steps<ReadonlyMap<string, Listener>> {
  const compiled = new TextMap<Listener>();
  const path = "modules.listeners";
  const value = isJsonObject(document.modules) ? document.modules.listeners : undefined;
  if (value === undefined) return compiled;
  const listeners = requireObject(value, path, "Write {} for none.", faults);
  if (listeners === undefined) return compiled;
  const names = Object.keys(listeners);
  if (names.length > limits.listenersMax) {
    const message =
      `A spec has at most ${limits.listenersMax} listeners; this one has ${names.length}.`;
    faults.add("too_many", path, message, "Join or remove some.");
  }
  for (const name of names.slice(0, limits.listenersMax)) {
    if (faults.isFull()) break;
    yield;
    const place = joinKey(path, name);
    checkTypeName(name, "Listener", place, faults);
    const listener = requireObject(listeners[name], place, LISTENER_HINT, faults);
    if (listener === undefined) continue;
    checkKnownKeys(listener, LISTENER_KEYS, place, faults);
    compiled.set(name, {
      name,
      url: compileUrl(listener.url, `${place}.url`, faults),
      secret: compileSecret(listener.secret, `${place}.secret`, faults),
      events: compileEvents(listener.events, `${place}.events`, declared, faults),
      enabled: compileEnabled(listener.enabled, `${place}.enabled`, faults),
      format: compileFormat(listener.format, `${place}.format`, faults),
    });
  }
  return compiled;
}

/**
 * Reports what forbids these listeners in an environment; empty if they may be deployed there.
 * This check is separate from the compiler because a stored spec must compile whatever today's
 * settings are.
 */
export function checkListenersFor(
  listeners: Iterable<Listener>,
  environment: Environment,
  allowPrivate: boolean,
): readonly Violation[] {
  const faults = createFaultList();
  for (const { name, url } of listeners) {
    const path = `${joinKey("modules.listeners", name)}.url`;
    const parsed = new URL(url);
    if (environment === "production" && parsed.protocol !== "https:") {
      const message = "In production a listener's URL begins with https:.";
      faults.add("url_not_https", path, message, URL_HINT);
    }
    const address = literalAddress(parsed);
    if (allowPrivate || address === undefined || isPublicAddress(address)) continue;
    faults.add(
      "url_not_public",
      path,
      `${address} is not an address of the public internet, and events are not sent elsewhere.`,
      "Use a public address; for tests and demos DAYBOOK_ALLOW_PRIVATE_WEBHOOKS=true allows others.",
    );
  }
  return faults.faults;
}

/** The value if it is a string; otherwise reports a fault and returns undefined. */
function requireText(
  value: JsonValue | undefined,
  path: string,
  hint: string,
  faults: FaultList,
): string | undefined {
  if (typeof value === "string") return value;
  if (value === undefined) faults.add("missing_key", path, `${path} is required.`, hint);
  else {
    const message = `${path} must be a string, not ${describeKind(value)}.`;
    faults.add("wrong_type", path, message, hint);
  }
  return undefined;
}

function compileUrl(value: JsonValue | undefined, path: string, faults: FaultList): string {
  const text = requireText(value, path, URL_HINT, faults);
  if (text === undefined) return "";
  if (text.length > limits.listenerUrlCharactersMax) {
    const message = `A URL has at most ${limits.listenerUrlCharactersMax} characters.`;
    faults.add("too_long", path, message, URL_HINT);
    return "";
  }
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isHttp = url?.protocol === "https:" || url?.protocol === "http:";
  if (url === undefined || !isHttp) {
    const message = `"${shorten(text)}" is not an absolute URL of https: or http:.`;
    faults.add("url_invalid", path, message, URL_HINT);
    return "";
  }
  // The URL may contain a password, so the messages below do not repeat it.
  if (url.username !== "" || url.password !== "") {
    const message = "A listener's URL has no user and no password.";
    faults.add("url_with_credentials", path, message, "Put a token into the path or the query.");
  }
  if (url.hash !== "") {
    faults.add("url_with_fragment", path, "A listener's URL has no fragment (#...).", "Remove it.");
  }
  return url.href;
}

function compileSecret(value: JsonValue | undefined, path: string, faults: FaultList): string {
  const secret = requireText(value, path, SECRET_HINT, faults);
  if (secret === undefined) return "";
  const { listenerSecretCharactersMin: min, listenerSecretCharactersMax: max } = limits;
  if (secret.length < min || secret.length > max) {
    const message = `A secret has ${min} to ${max} characters; this one has ${secret.length}.`;
    faults.add(secret.length < min ? "too_short" : "too_long", path, message, SECRET_HINT);
  }
  return secret;
}

function compileEvents(
  value: JsonValue | undefined,
  path: string,
  declared: DeclaredTypes,
  faults: FaultList,
): readonly string[] {
  if (value === undefined) {
    faults.add("missing_key", path, `${path} is required.`, EVENTS_HINT);
    return [];
  }
  if (Array.isArray(value) && (value.length === 0 || value.length > limits.listenerEventsMax)) {
    const message = `A listener has 1 to ${limits.listenerEventsMax} patterns of events.`;
    faults.add(value.length === 0 ? "empty" : "too_many", path, message, EVENTS_HINT);
    return [];
  }
  const patterns = requireUniqueStrings(value, path, EVENTS_HINT, faults);
  for (const { text, path: place } of patterns) checkPattern(text, place, declared, faults);
  return patterns.map(({ text }) => text);
}

function checkPattern(pattern: string, path: string, declared: DeclaredTypes, faults: FaultList) {
  if (pattern === "*") return;
  const parts = pattern.split(".");
  const [aggregateType, eventType] = parts;
  if (parts.length !== 2 || aggregateType === "" || eventType === "") {
    const message = `"${shorten(pattern)}" is not a pattern of events.`;
    return faults.add("pattern_invalid", path, message, EVENTS_HINT);
  }
  const events = declared.get(aggregateType!);
  if (events === undefined) {
    const message = `"${shorten(aggregateType!)}" is not an aggregate type of this spec.`;
    const hint = didYouMean(aggregateType!, declared.keys(), EVENTS_HINT);
    return faults.add("unknown_aggregate_type", path, message, hint);
  }
  if (eventType === "*" || events.has(eventType!) || isSystemEventName(eventType!)) return;
  const message = `${aggregateType} has no event type "${shorten(eventType!)}".`;
  faults.add("unknown_event_type", path, message, didYouMean(eventType!, events, EVENTS_HINT));
}

function compileEnabled(value: JsonValue | undefined, path: string, faults: FaultList): boolean {
  if (value === undefined || typeof value === "boolean") return value ?? true;
  const message = `${path} must be true or false, not ${describeKind(value)}.`;
  faults.add("wrong_type", path, message, "Leave it out for true.");
  return false;
}

function compileFormat(
  value: JsonValue | undefined,
  path: string,
  faults: FaultList,
): ListenerFormat {
  if (value === undefined || value === "daybook" || value === "cloudevents") {
    return value ?? "daybook";
  }
  const message = `${path} must be "daybook" or "cloudevents".`;
  faults.add("wrong_value", path, message, 'Leave it out for "daybook".');
  return "daybook";
}
