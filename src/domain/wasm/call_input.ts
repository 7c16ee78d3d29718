/**
 * The JSON that a module is given, joined from texts that are JSON already.
 * Spec: "Handler input", "Implication input".
 */

/** `{state, event: {key, type, data, metadata}}`. */
export function handlerInput(stateJson: string, eventJson: string): string {
  return `{"state":${stateJson},"event":${eventJson}}`;
}

/** `{event: {...}, context}`. */
export function implicationInput(eventJson: string, contextJson: string): string {
  return `{"event":${eventJson},"context":${contextJson}}`;
}
