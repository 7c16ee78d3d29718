/** What is wrong with a draft of a spec, or worth knowing: from its text, and from the server. */

import type { Refusal } from "@daybook/client";
import type { Deployed, Violation } from "@daybook/client/admin";
import type { Range, SpecText } from "./spec_text.ts";

export interface Finding {
  readonly severity: "error" | "warning";
  readonly message: string;
  readonly hint?: string;
  readonly rule?: string;
  /** As the server names the place. */
  readonly path?: string;
  readonly range: Range;
}

type GoodText = SpecText & { readonly ok: true };

/** The fault of a text that is no document. */
export function textFinding({ fault }: SpecText & { readonly ok: false }): Finding {
  return { severity: "error", message: fault.message, range: fault };
}

/** What a dry run has said. A refusal that is not about the spec gives nothing. */
export function serverFindings(text: GoodText, answer: Deployed | Refusal): Finding[] {
  if (answer.ok) return answer.warnings.map((each) => findingOf(text, "warning", each));
  const violations = violationsOf(answer);
  return (violations ?? []).map((each) => findingOf(text, "error", each));
}

/** What the server refuses in the spec; undefined if it refused something else. */
export function violationsOf(refusal: Refusal): readonly Violation[] | undefined {
  const { error_type } = refusal;
  return error_type === "spec_invalid" || error_type === "spec_incompatible"
    ? refusal.violations
    : undefined;
}

function findingOf(
  { locate }: GoodText,
  severity: Finding["severity"],
  { rule, path, message, hint }: Violation,
): Finding {
  return { severity, rule, path, message, hint, range: locate(path) };
}
