/** The result of resolving a part of an entry for one trigger: a value, nothing, or a failure. */

export type Resolved<T> =
  | { readonly kind: "value"; readonly value: T }
  /** A path with a trailing `?` found nothing, so the part that contains it is left out. */
  | { readonly kind: "skip" }
  | { readonly kind: "failure"; readonly message: string };

export const SKIPPED = { kind: "skip" } as const;

export function resolvedTo<T>(value: T): Resolved<T> {
  return { kind: "value", value };
}

export function failed(message: string): { readonly kind: "failure"; readonly message: string } {
  return { kind: "failure", message };
}
