/**
 * Compiles `singletons`: ids that are names.
 *
 * A name that breaks the naming conventions only gets a warning; a name that could never be
 * addressed is refused. See docs/reference/identifiers.md.
 */

import type { JsonObject } from "../json.ts";
import { RESERVED_SINGLETONS } from "./document.ts";
import { type FaultList, shorten } from "./fault_list.ts";
import { requireUniqueStrings } from "./shape.ts";

const CHARACTERS_MAX = 255;
const HUMANE_CODE = /^[0-9A-Za-z]{9}$/;
const UUID_WITH_TAG =
  /^[0-9a-f]{8}-[0-9a-f]{4}-[45][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}(?::[a-z0-9]{1,10})?$/i;
// deno-lint-ignore no-control-regex -- control characters are just what is looked for
const UNROUTABLE_CHARACTER = /[/\\\u0000-\u001f\u007f]/;

/** The declared singletons and `global`. */
export function compileSingletons(
  document: JsonObject,
  faults: FaultList,
  warnings: FaultList,
): ReadonlySet<string> {
  if (document.singletons === undefined) return new Set(["global"]);
  const hint = 'For example ["main"].';
  const names = requireUniqueStrings(document.singletons, "singletons", hint, faults);
  for (const { text, path } of names) {
    if (isAddressable(text, path, faults)) warnOfConventions(text, path, warnings);
  }
  return new Set(["global", ...names.map(({ text }) => text)]);
}

function isAddressable(text: string, path: string, faults: FaultList): boolean {
  if (RESERVED_SINGLETONS.has(text)) {
    faults.add(
      "singleton_reserved",
      path,
      `Singleton "${text}" is reserved: /{aggregate_type}/${text} is a path of the service.`,
      "Choose another name.",
    );
    return false;
  }
  const reason = unroutableReason(text);
  if (reason === undefined) return true;
  faults.add(
    "singleton_unroutable",
    path,
    `Singleton "${shorten(text)}" could never be addressed: it ${reason}.`,
    "Use letters, digits and underscores.",
  );
  return false;
}

function unroutableReason(text: string): string | undefined {
  if (text === "") return "is empty";
  if (text === "." || text === "..") return "is a relative path segment";
  if (text.length > CHARACTERS_MAX) return `is longer than ${CHARACTERS_MAX} characters`;
  if (UNROUTABLE_CHARACTER.test(text)) return "has a slash, a backslash or a control character";
  if (!text.isWellFormed()) return "is not well-formed Unicode";
  return undefined;
}

function warnOfConventions(text: string, path: string, warnings: FaultList): void {
  if (text === "global") {
    warnings.add("singleton_global", path, '"global" is implicit.', "Leave it out of singletons.");
  } else if (HUMANE_CODE.test(text) || UUID_WITH_TAG.test(text)) {
    warnings.add(
      "singleton_like_identifier",
      path,
      `Singleton "${text}" also has the shape of another kind of identifier; it stays a singleton ` +
        "and is never normalized.",
      "Choose a name that is not nine letters or digits and not a UUID.",
    );
  } else if (!/^[A-Za-z0-9_]+$/.test(text)) {
    warnings.add(
      "singleton_naming",
      path,
      `Singleton "${shorten(text)}" has characters other than letters, digits and underscores.`,
      "Use letters, digits and underscores.",
    );
  }
}
