/**
 * Tails for live readers. Thousands may follow one stream: those that want the same page share it,
 * and pages that differ are read in turns, as pages of the feed are.
 */

import type { Outcome } from "../../domain/refusal.ts";
import type { Tenant } from "../../domain/tenant.ts";
import type { Engine } from "../../kv/engine.ts";
import type { SpecCache } from "../base/current_spec.ts";
import type { Seen } from "./follow_commits.ts";
import type { PageTurns } from "./page_turns.ts";
import { locateTail, readTailPage, type TailPage, type TailRequest } from "./read_tail.ts";
import { openSharedPages } from "./shared_pages.ts";

export interface SharedTailRequest extends TailRequest {
  /** What the reader has heard of its stream. It gets no older page. */
  readonly heard: Heard;
}

export type Heard = Pick<TailPage, "generation" | "length">;

export interface SharedTailParts {
  readonly engine: Engine;
  readonly specs: SpecCache;
  readonly turns: PageTurns;
  /** What followers were told of; undefined for an environment that nobody follows. */
  readonly seen: (tenant: number) => Seen | undefined;
}

export type ReadSharedTail = (
  tenant: Tenant,
  request: SharedTailRequest,
) => Promise<Outcome<TailPage>>;

export function openSharedTails(
  { engine, specs, turns, seen }: SharedTailParts,
): ReadSharedTail {
  const shared = openSharedPages<TailPage>(seen);

  return async (tenant, { heard, ...request }) => {
    const key = await locateTail(specs, tenant, request);
    if (!key.ok) return key;
    const { start = "", limit, bytesMax } = request;
    const read = () =>
      turns.run(tenant.number, () => readTailPage({ engine, specs }, tenant, request));
    const name = `${start} ${limit} ${bytesMax} ${key.value}`;
    const page = await shared.read(tenant.number, name, read);
    // A commit of which followers are not told yet may be behind the page.
    return page.ok && isBefore(page.value, heard) ? await read() : page;
  };
}

function isBefore(page: Heard, heard: Heard): boolean {
  return page.generation < heard.generation || page.length < heard.length;
}
