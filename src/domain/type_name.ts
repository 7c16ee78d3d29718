/**
 * Which names aggregate, event, agent and target types may have.
 *
 * Reserved names are checked where types are declared. See docs/reference/identifiers.md.
 */

const TYPE_NAME = /^[a-z][a-z0-9_]{0,63}$/;

/** True for names that a client may declare. System events begin with `_` and do not match. */
export function isTypeName(text: string): boolean {
  return TYPE_NAME.test(text);
}

export const TYPE_NAME_HINT =
  "Use 1 to 64 lowercase letters, digits and underscores, starting with a letter.";
