/** Folded states: as text, or as the bytes that a process has made of them. */

import { accept } from "../../domain/refusal.ts";
import type { StateJson } from "../../store/streams/state_parts.ts";
import type { ComputeRunner, FoldOrder } from "./run_compute.ts";

/** A state, and how far into its stream it reaches. */
export interface FoldedState {
  readonly length: number;
  readonly bytes: number;
  readonly generation: number;
  readonly stateJson: string;
}

/** A state to begin with. A large one may be its bytes in UTF-8, which is what a process takes. */
export type FoldBase =
  | FoldedState
  | (Omit<FoldedState, "stateJson"> & { readonly stateUtf8: Uint8Array<ArrayBuffer> });

const decoder = new TextDecoder();

export function stateOfBase(base: FoldBase): StateJson {
  return "stateJson" in base ? base.stateJson : base.stateUtf8;
}

export function textOfBase(base: FoldBase | undefined): string | undefined {
  const state = base && stateOfBase(base);
  return typeof state === "object" ? decoder.decode(state) : state;
}

/** What a rebuild passes on: to the next job and to the store, without a text of it. */
export async function foldToBytes(compute: ComputeRunner, tenant: number, order: FoldOrder) {
  const folded = await compute.foldToBytes(tenant, order);
  if (!folded.ok) return folded;
  const state = { stateUtf8: folded.value };
  return accept({
    state,
    step: { ...state, stateJson: () => accept(decoder.decode(folded.value)) },
  });
}

export async function foldToText(compute: ComputeRunner, tenant: number, order: FoldOrder) {
  const folded = await compute.fold(tenant, order);
  if (!folded.ok) return folded;
  return accept({ state: { stateJson: folded.value }, step: { stateJson: () => folded } });
}
