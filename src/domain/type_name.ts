/**
 * How aggregate, event, agent and target types may be called. Decided in "Identifiers"; reserved
 * names are the business of who declares them.
 */

const TYPE_NAME = /^[a-z][a-z0-9_]{0,63}$/;

/** True for names a client may declare; those of system events begin with `_` and are none. */
export function isTypeName(text: string): boolean {
  return TYPE_NAME.test(text);
}

export const TYPE_NAME_HINT =
  "Use 1 to 64 lowercase letters, digits and underscores, starting with a letter.";
