/**
 * The verdicts of all verifications, and the public keys that a verification is given.
 */

/**
 * The step that failed. `key`: the public key that was given is none, or anybody can sign for it.
 * `form`: the document is not what it must be. `anchor`: the evidence is signed, but for another
 * instance or environment than the expected one. `proof`: an inclusion proof leads elsewhere. The
 * others are the steps of docs/reference/audit.md, "Verifying evidence offline".
 *
 * @example
 * ```ts
 * import type { VerifyStep } from "@daybook/client/verify";
 *
 * const steps: readonly VerifyStep[] = ["form", "event", "counts", "chain", "signature"];
 * console.log(steps);
 * ```
 */
export type VerifyStep =
  | "key"
  | "form"
  | "event"
  | "counts"
  | "chain"
  | "stream_proof"
  | "instance_proof"
  | "proof"
  | "anchor"
  | "signature";

/**
 * Evidence that was refused: the step that failed, and why, for people.
 *
 * @example
 * ```ts
 * import { type Refused, verifyBundle } from "@daybook/client/verify";
 *
 * const verdict = verifyBundle("{}", { publicKey: "d7".repeat(32) });
 * const refused: Refused | undefined = verdict.ok ? undefined : verdict;
 * console.log(refused?.step); // form
 * ```
 */
export interface Refused {
  readonly ok: false;
  readonly step: VerifyStep;
  readonly message: string;
}

/**
 * One comparison of a verification: what was computed or found, and what it must be. For people;
 * the verdict alone says whether the evidence holds.
 *
 * @example
 * ```ts
 * import { type VerifyCheck, verifyBundle } from "@daybook/client/verify";
 *
 * const checks: VerifyCheck[] = [];
 * verifyBundle("{}", { publicKey: "d7".repeat(32), onCheck: (check) => checks.push(check) });
 * console.log(checks.map(({ step, what }) => `${step}: ${what}`));
 * ```
 */
export interface VerifyCheck {
  readonly step: VerifyStep;
  /** What is compared. */
  readonly what: string;
  readonly computed: string;
  /** The value that it must be, or in words what it must be. */
  readonly expected: string;
}

export type OnCheck = (check: VerifyCheck) => void;

/** Tells a comparison with what is expected; nothing if nothing is. */
export function tell(
  onCheck: OnCheck | undefined,
  step: VerifyStep,
  { what, computed, expected }: {
    readonly what: string;
    readonly computed: unknown;
    readonly expected: unknown;
  },
): void {
  if (expected === undefined) return;
  onCheck?.({ step, what, computed: String(computed), expected: String(expected) });
}

/**
 * The public key that must have signed: 32 bytes in lowercase hex, from a source that you trust,
 * not from the evidence itself. Several if the instance has rotated its key.
 *
 * @example
 * ```ts
 * import type { PublicKey } from "@daybook/client/verify";
 *
 * const first = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a";
 * const second = "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c";
 * const publicKey: PublicKey = [first, second];
 * console.log(publicKey);
 * ```
 */
export type PublicKey = string | readonly string[];

/** Thrown within a verification; it leaves it as a verdict. */
export class Refusal extends Error {
  readonly verdict: Refused;

  constructor(step: VerifyStep, message: string) {
    super(message);
    this.verdict = { ok: false, step, message };
  }
}

export function need(condition: boolean, step: VerifyStep, message: string): asserts condition {
  if (!condition) throw new Refusal(step, message);
}

/** What the verification returns, or its refusal. */
export function verdictOf<T>(verify: () => T): T | Refused {
  try {
    return verify();
  } catch (error) {
    if (error instanceof Refusal) return error.verdict;
    throw error;
  }
}
