/**
 * Builds the JSON input of module calls from texts that are already JSON.
 *
 * See docs/reference/modules.md.
 */

/** `{state, event: {key, type, data, metadata}}`. */
export function handlerInput(stateJson: string, eventJson: string): string {
  return `{"state":${stateJson},"event":${eventJson}}`;
}

/** `{event: {...}, context}`. */
export function implicationInput(eventJson: string, contextJson: string): string {
  return `{"event":${eventJson},"context":${contextJson}}`;
}
