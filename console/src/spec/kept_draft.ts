/** The text that an operator is working on, kept in the tab so that a reload does not lose it. */

function nameOf(instanceId: string | undefined): string {
  return `daybook.spec_draft.${instanceId ?? ""}`;
}

export function readDraft(instanceId: string | undefined): string | undefined {
  return sessionStorage.getItem(nameOf(instanceId)) ?? undefined;
}

/** Without a text, nothing is kept. A text that the browser has no room for is not kept either. */
export function keepDraft(instanceId: string | undefined, text: string | undefined): void {
  try {
    if (text === undefined) sessionStorage.removeItem(nameOf(instanceId));
    else sessionStorage.setItem(nameOf(instanceId), text);
  } catch {
    sessionStorage.removeItem(nameOf(instanceId));
  }
}
