/**
 * Runs work too heavy for the request thread in processes: folds and rows of projections.
 *
 * It names the instance that each job belongs to, and turns failed jobs into refusals. A text of
 * tens of megabytes is never converted in one go, so other work gets the thread between its
 * slices.
 */

import {
  type ComputeOutcome,
  type ComputePool,
  type InputPiece,
  openComputePool,
} from "../../compute/pool.ts";
import { FOLD_UNITS } from "../../domain/handler/budget.ts";
import { limits } from "../../domain/limits.ts";
import { openPieces } from "../../domain/fairness/pieces.ts";
import type { CompiledProjection } from "../../domain/projection/definition.ts";
import type { RowStep } from "../../domain/projection/row.ts";
import { accept, type Outcome, type Refusal, refuse } from "../../domain/refusal.ts";
import type { CompiledAggregateType } from "../../domain/spec/compiled.ts";
import type { StreamKey } from "../../domain/identifier.ts";
import type { Host } from "../../host.ts";
import type { Engine } from "../../kv/engine.ts";
import { type StateJson, textOfState } from "../../store/streams/state_parts.ts";
import { openInstanceNames } from "../base/instance_of.ts";

/** A fold to run in a process. */
export interface FoldOrder {
  readonly stream: StreamKey;
  readonly type: CompiledAggregateType;
  /** The initial state; undefined: the empty one. */
  readonly base: StateJson | undefined;
  /** The texts of the events in batches; each call starts again from the first event. */
  events(): AsyncIterable<readonly string[]>;
  /** The bytes of the events, for a refusal. */
  readonly bytes: number;
}

/** A row to compute, with the sources known so far. */
export interface RowOrder {
  readonly projection: CompiledProjection;
  readonly key: string;
  /** States as JSON text; null for a stream without events. */
  readonly states: ReadonlyMap<StreamKey, string | null>;
}

/** How far a row can be computed; the columns of a complete one are JSON text. */
export type RowTextStep =
  | Extract<RowStep, { readonly kind: "wanted" }>
  | { readonly kind: "data"; readonly dataJson: string };

export interface ComputeRunner {
  /** The instance that a tenant belongs to; work is fair among instances. */
  instanceOf(tenant: number): string | Promise<string>;
  /** Returns the state as JSON text. */
  fold(tenant: number, order: FoldOrder): Promise<Outcome<string>>;
  /** Returns the bytes of that text, as they came from the process. */
  foldToBytes(tenant: number, order: FoldOrder): Promise<Outcome<Uint8Array<ArrayBuffer>>>;
  /** Computes the row, or finds which further streams it needs. */
  advanceRow(tenant: number, order: RowOrder): Promise<Outcome<RowTextStep>>;
}

export interface Compute extends ComputeRunner {
  /** Ends the running jobs and processes. */
  close(): Promise<void>;
}

export interface ComputeSettings {
  /** The most processes; none is started before there is a job. */
  readonly runners: number;
  /** The package cache, if it is not in Deno's default place. */
  readonly cacheFolder?: string;
}

const RETRY_AFTER_MS = 1_000;
const encoder = new TextEncoder();

export function openCompute(engine: Engine, host: Host, settings: ComputeSettings): Compute {
  const pool = openComputePool({
    ...settings,
    onFault: (error) =>
      host.log("error", "A process that computes could not be started", { reason: String(error) }),
  });
  return { ...createComputeRunner(engine, host, pool), close: pool.close };
}

export function createComputeRunner(engine: Engine, host: Host, pool: ComputePool): ComputeRunner {
  const instanceOf = openInstanceNames(engine);

  async function fold(tenant: number, order: FoldOrder): Promise<Outcome<string>> {
    const folded = await foldToBytes(tenant, order);
    if (!folded.ok) return folded;
    return accept(await textOfState(folded.value, openPieces(host).rest));
  }

  async function foldToBytes(
    tenant: number,
    order: FoldOrder,
  ): Promise<Outcome<Uint8Array<ArrayBuffer>>> {
    const { stream, type: { foldHash }, base, bytes } = order;
    const outcome = await pool.run<"fold">(await instanceOf(tenant), {
      head: { kind: "fold", foldHash, units: FOLD_UNITS, baseBytes: await countBytes(base) },
      lane: `${tenant}/${stream}/${foldHash}`,
      input: () => foldInput(order),
    });
    if (outcome.kind !== "done") return refuse(refusalOf("Folding this aggregate", outcome, bytes));
    if (!outcome.result.ok) return outcome.result;
    return accept(outcome.bytes);
  }

  /** The length of a state in UTF-8. */
  async function countBytes(text: StateJson | undefined): Promise<number> {
    if (text === undefined) return 0;
    if (typeof text !== "string") return text.length;
    const pieces = openPieces(host);
    let bytes = 0;
    for (const slice of slicesOfText(text)) {
      bytes += slice.length;
      await pieces.rest();
    }
    return bytes;
  }

  async function advanceRow(
    tenant: number,
    { projection, key, states }: RowOrder,
  ): Promise<Outcome<RowTextStep>> {
    const lane = `${tenant}/${projection.name}/${key}`;
    const sizes: [StreamKey, number][] = [];
    for (const [stream, text] of states) {
      sizes.push([stream, text === null ? 0 : await countBytes(text)]);
    }
    const outcome = await pool.run<"row">(await instanceOf(tenant), {
      head: { kind: "row", key, states: sizes },
      lane,
      input: () => rowInput(projection, states),
    });
    if (outcome.kind !== "done") return refuse(refusalOf("Computing this row", outcome, 0));
    const { result, bytes } = outcome;
    if (result.kind === "refused") return refuse(result.refusal);
    if (result.kind === "wanted") return accept(result);
    // Its keys may be slow to find, so nothing of it is parsed here.
    return accept({ kind: "data", dataJson: new TextDecoder().decode(bytes) });
  }

  return { instanceOf, fold, foldToBytes, advanceRow };
}

async function* foldInput({ type, base, events }: FoldOrder): AsyncGenerator<InputPiece> {
  yield { name: "handlers", bytes: definitionsOf(type) };
  for (const bytes of slicesOfText(base ?? "")) yield { name: "base", bytes };
  for await (const texts of events()) {
    if (texts.length > 0) {
      yield { name: "events", bytes: encoder.encode(`${texts.join("\n")}\n`) };
    }
  }
}

function* rowInput(
  { document, types, singletons }: CompiledProjection,
  states: RowOrder["states"],
): Generator<InputPiece> {
  const definition = { document, types: [...types], singletons: [...singletons] };
  yield { name: "definition", bytes: encoder.encode(JSON.stringify(definition)) };
  for (const text of states.values()) {
    for (const bytes of slicesOfText(text ?? "")) yield { name: "states", bytes };
  }
}

const definitions = new WeakMap<CompiledAggregateType, Uint8Array>();

function definitionsOf(type: CompiledAggregateType): Uint8Array {
  const known = definitions.get(type);
  if (known !== undefined) return known;
  const bytes = encoder.encode(JSON.stringify(type.handlerDefinitions));
  definitions.set(type, bytes);
  return bytes;
}

/** The refusal of a job that was not done; `what` names the job. */
function refusalOf(
  what: string,
  outcome: Exclude<ComputeOutcome<"fold">, { readonly kind: "done" }>,
  bytes: number,
): Refusal {
  const limit = limits.foldBytesMax;
  switch (outcome.kind) {
    case "unavailable": {
      const message = `${what} is too much to be done beside other requests, and its turn did ` +
        `not come: ${outcome.reason}`;
      return { kind: "modules_unavailable", message, retryAfterMs: RETRY_AFTER_MS };
    }
    case "late": {
      const message = `${what} takes too long. ${outcome.reason}`;
      return { kind: "fold_budget_exceeded", message, bytes, limit, isOfTheMoment: true };
    }
    case "lost": {
      const message = `${what} takes too much memory. ${outcome.reason}`;
      return { kind: "fold_budget_exceeded", message, bytes, limit };
    }
  }
}

/** Converting a slice takes less than a millisecond. */
const SLICE_CHARACTERS = 128 * 1024;

/** The UTF-8 bytes of a state in slices. Those of a text never split a character. */
function* slicesOfText(text: StateJson): Generator<Uint8Array<ArrayBuffer>> {
  if (typeof text !== "string") {
    for (let at = 0; at < text.length; at += SLICE_CHARACTERS) {
      yield text.subarray(at, at + SLICE_CHARACTERS);
    }
    return;
  }
  for (let at = 0; at < text.length;) {
    let end = Math.min(text.length, at + SLICE_CHARACTERS);
    // Half of a surrogate pair has no UTF-8 encoding of its own.
    if (end < text.length && isFirstHalf(text.charCodeAt(end - 1))) end--;
    yield encoder.encode(text.slice(at, end));
    at = end;
  }
}

function isFirstHalf(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff;
}
