/**
 * The handlers that an operator has changed, kept in the tab so that leaving the page does not lose
 * them. They stay until they are discarded, or until whoever has signed in signs out.
 */

/** Which handler: of an event type, in the spec of an instance. The tab has one environment. */
export interface HandlerName {
  readonly instanceId: string | undefined;
  readonly type: string;
  readonly event: string;
}

const BEGIN = "daybook.handler.";

/** A longer text is not kept while somebody types. */
export const KEPT_CHARACTERS_MAX = 100_000;

/** No two handlers share a name. */
function nameOf({ instanceId, type, event }: HandlerName): string {
  return BEGIN + JSON.stringify([instanceId ?? "", type, event]);
}

export function readHandler(of: HandlerName): string | undefined {
  return sessionStorage.getItem(nameOf(of)) ?? undefined;
}

/** Without a text, nothing is kept. False if the text is too long to be kept. */
export function keepHandler(of: HandlerName, text: string | undefined): boolean {
  try {
    if (text !== undefined && text.length <= KEPT_CHARACTERS_MAX) {
      sessionStorage.setItem(nameOf(of), text);
      return true;
    }
  } catch {
    // The browser has no room for it.
  }
  sessionStorage.removeItem(nameOf(of));
  return text === undefined;
}

/** What is kept of one instance, by `names`: all that the tab keeps. */
export function handlersAmong(
  names: readonly string[],
  instanceId: string | undefined,
): readonly HandlerName[] {
  const found = names.flatMap((name) => {
    const [of, type, event] = partsOf(name);
    return of === (instanceId ?? "") && typeof type === "string" && typeof event === "string"
      ? [{ instanceId, type, event }]
      : [];
  });
  return found.sort((one, other) => sortKey(one) < sortKey(other) ? -1 : 1);
}

function partsOf(name: string): readonly unknown[] {
  if (!name.startsWith(BEGIN)) return [];
  try {
    const parts: unknown = JSON.parse(name.slice(BEGIN.length));
    return Array.isArray(parts) ? parts : [];
  } catch {
    return [];
  }
}

function sortKey({ type, event }: HandlerName): string {
  return `${type}.${event}`;
}

export function keptHandlers(instanceId: string | undefined): readonly HandlerName[] {
  return handlersAmong(Object.keys(sessionStorage), instanceId);
}
