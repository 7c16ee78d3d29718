/**
 * Keeps the copies of projections that this process needs for SQL.
 *
 * Each environment that queries read has a file, with a table for each projection they name. A
 * copy is never the source of truth: one that is missing, damaged, in another format or too far
 * behind is made anew, and one that no query has used for an hour is removed.
 */

import { limits } from "../../../domain/limits.ts";
import { openTransactionPieces } from "../../../domain/fairness/transaction_pieces.ts";
import { openWaitingRoom } from "../../../domain/fairness/shares.ts";
import type { ReadyProjection } from "../../../domain/projection/ready_projection.ts";
import type { Tenant } from "../../../domain/tenant.ts";
import type { Host } from "../../../host.ts";
import type { Engine } from "../../../kv/engine.ts";
import { listReadyProjections } from "../../../store/projections/ready_projections.ts";
import { copyPath, hasRoom, listCopies, makeCopyFolder } from "../../../sql/copies_folder.ts";
import type { CopiedTable } from "../../../sql/copy_messages.ts";
import type { CopyWriter } from "../../../sql/copy_writer.ts";
import { catchUpCopy } from "./catch_up_copy.ts";
import { fillCopy } from "./fill_copy.ts";
import { newTenantCopy, ownerOf, type TenantCopy } from "./tenant_copy.ts";

export type Followed =
  /** The tables exist. If they are not current, the time ran out. */
  | {
    readonly kind: "ready";
    readonly path: string;
    readonly tables: readonly CopiedTable[];
    readonly isCurrent: boolean;
  }
  /** Tables are being filled and have this many rows so far. */
  | { readonly kind: "filling"; readonly rows: number }
  | { readonly kind: "failed"; readonly reason: string };

export interface ProjectionCopies {
  /**
   * Brings the tables of the named projections up to a moment after the call. Waits as long as
   * `patience` allows; the work itself continues in any case.
   */
  follow(tenant: Tenant, names: ReadonlySet<string>, patience: FollowPatience): Promise<Followed>;
  /** Reports that the file is not as expected. A damaged file is removed. */
  doubt(tenant: Tenant, isDamaged: boolean): Promise<void>;
  /** For background work: updates the copies in use and removes unused ones. */
  sweep(): Promise<void>;
  measure(): CopiesMeasure;
  close(): Promise<void>;
}

/** Deadlines on the monotonic clock. */
export interface FollowPatience {
  /** Until when to wait for tables to be current. */
  readonly currentMs: number;
  /** Until when to wait for tables to exist. */
  readonly filledMs: number;
}

export interface CopiesMeasure {
  readonly files: number;
  readonly tables: number;
  /** Tables that are being filled. */
  readonly filling: number;
}

export interface ProjectionCopiesWorld {
  readonly engine: Engine;
  readonly host: Host;
  readonly writer: CopyWriter;
  readonly folder: string;
}

interface Copy extends TenantCopy {
  /** The time of the last query, on the monotonic clock. */
  usedMs: number;
  /** The names that the next round will follow; all callers that ask before it begins share it. */
  next: { readonly names: Set<string>; readonly round: Promise<Round> } | undefined;
  readonly fillings: Map<string, Filling>;
  /** Whether this process has opened the file before. */
  isKnown: boolean;
}

interface Filling {
  rows: number;
  /** Resolves with a reason if the filling failed. Never rejects. */
  readonly done: Promise<string | undefined>;
}

type Round =
  | { readonly kind: "ready"; readonly missing: readonly ReadyProjection[] }
  | { readonly kind: "failed"; readonly reason: string };

/** How often a round restarts because the file has changed. */
const TRIES = 3;
const IDLE_MS_MAX = limits.rowChangesSeconds * 1000;
/**
 * Tables that are filled at the same time: each holds two pages of rows. One environment
 * fills a quarter of them.
 */
const FILLING_MAX = 8;

export function openProjectionCopies(world: ProjectionCopiesWorld): ProjectionCopies {
  const { engine, host, writer, folder } = world;
  const copies = new Map<number, Copy>();
  const startedMs = host.monotonicMs();
  const places = openWaitingRoom<number>(FILLING_MAX);

  function copyOf(tenant: Tenant): Copy {
    const known = copies.get(tenant.number);
    if (known !== undefined) return known;
    const copy: Copy = Object.assign(
      newTenantCopy(writer, tenant, copyPath(folder, tenant.number)),
      { usedMs: 0, next: undefined, fillings: new Map(), isKnown: false },
    );
    copies.set(tenant.number, copy);
    return copy;
  }

  async function follow(
    tenant: Tenant,
    names: ReadonlySet<string>,
    { currentMs, filledMs }: FollowPatience,
  ): Promise<Followed> {
    const copy = copyOf(tenant);
    copy.usedMs = host.monotonicMs();
    const whole = followToEnd(copy, names);
    for (const deadlineMs of [currentMs, filledMs]) {
      const followed = await before(host, deadlineMs, whole);
      if (followed !== undefined) return followed;
      const tables = tablesOf(copy, names);
      if (tables.length === names.size) {
        return { kind: "ready", path: copy.path, tables, isCurrent: false };
      }
    }
    const rows = [...copy.fillings.values()].reduce((sum, filling) => sum + filling.rows, 0);
    return { kind: "filling", rows };
  }

  async function followToEnd(copy: Copy, names: ReadonlySet<string>): Promise<Followed> {
    for (let tries = 0; tries < TRIES; tries++) {
      const round = await joinRound(copy, names);
      if (round.kind === "failed") return round;
      if (round.missing.length === 0) {
        return { kind: "ready", path: copy.path, tables: tablesOf(copy, names), isCurrent: true };
      }
      const reasons = await Promise.all(
        round.missing.map((projection) => fillOnce(copy, projection)),
      );
      const reason = reasons.find((each) => each !== undefined);
      if (reason !== undefined) return { kind: "failed", reason };
    }
    return { kind: "failed", reason: "the projection changes faster than its copy can be made" };
  }

  /** Joins the next round to begin and adds these names to it. Never rejects. */
  function joinRound(copy: Copy, names: ReadonlySet<string>): Promise<Round> {
    if (copy.next === undefined) {
      const all = new Set<string>();
      const round = copy.inTurn(() => {
        copy.next = undefined;
        return runRound(copy, all);
      });
      copy.next = { names: all, round: round.catch(failedRound) };
    }
    for (const name of names) copy.next.names.add(name);
    return copy.next.round;
  }

  async function runRound(copy: Copy, names: ReadonlySet<string>): Promise<Round> {
    for (let tries = 0; tries < TRIES; tries++) {
      const reason = copy.tables === undefined ? await open(copy) : undefined;
      if (reason !== undefined) return { kind: "failed", reason };
      const round = await tryRound(copy, copy.tables!, names);
      if (round !== undefined) return round;
      copy.tables = undefined;
    }
    return { kind: "failed", reason: "the projection changes faster than its copy can be made" };
  }

  /** Undefined if the file is not as expected. */
  async function tryRound(
    copy: Copy,
    tables: Map<string, CopiedTable>,
    names: ReadonlySet<string>,
  ): Promise<Round | undefined> {
    const wanted = new Set(tables.keys()).union(names);
    const projections = await engine.snapshot((tx) =>
      listReadyProjections(engine, tx, copy.tenant.number, {
        names: wanted,
        pieces: openTransactionPieces(host, copy.tenant.number),
      })
    );
    const current = projections.filter((projection) =>
      isTableOf(tables.get(projection.name), projection)
    );
    const kept = new Set(current.map(({ name }) => name));
    const old = [...tables.keys()].filter((name) => !kept.has(name));
    if (!await drop(copy, tables, old)) return undefined;
    const followers = current.filter(({ name }) => names.has(name))
      .map((projection) => ({ projection, table: tables.get(projection.name)! }));
    const caughtUp = await catchUpCopy(world, copy, followers);
    if (caughtUp.kind === "failed") {
      copy.tables = undefined;
      return caughtUp;
    }
    if (caughtUp.kind === "moved") return undefined;
    if (caughtUp.kind === "lost") {
      await drop(copy, tables, caughtUp.names);
      return undefined;
    }
    const missing = projections.filter(({ name }) => names.has(name) && !tables.has(name));
    return { kind: "ready", missing };
  }

  async function drop(
    copy: Copy,
    tables: Map<string, CopiedTable>,
    names: readonly string[],
  ): Promise<boolean> {
    if (names.length === 0) return true;
    for (const name of names) tables.delete(name);
    return (await copy.ask({ kind: "drop", names })).kind === "done";
  }

  /** Returns a reason if there can be no copy now. */
  async function open(copy: Copy): Promise<string | undefined> {
    try {
      await makeCopyFolder(folder);
    } catch (error) {
      return reasonOf(error);
    }
    const owner = ownerOf(copy.tenant);
    const opened = await copy.ask({ kind: "open", owner, isFirst: !copy.isKnown });
    if (opened.kind !== "opened") return "reason" in opened ? opened.reason : opened.kind;
    copy.isKnown = true;
    copy.tables = new Map(opened.tables.map((table) => [table.name, table]));
    return undefined;
  }

  /** Fills a table, or waits for the filling under way. */
  function fillOnce(copy: Copy, projection: ReadyProjection): Promise<string | undefined> {
    const id = `${projection.number}/${projection.version}`;
    const underWay = copy.fillings.get(id);
    if (underWay !== undefined) return underWay.done;
    const filling: Filling = {
      rows: 0,
      done: fillInTurn(copy, projection, (rows) => filling.rows = rows)
        .catch((error) => reasonOf(error))
        .finally(() => copy.fillings.delete(id)),
    };
    copy.fillings.set(id, filling);
    return filling.done;
  }

  async function fillInTurn(...filling: Parameters<typeof fill>): Promise<string | undefined> {
    const leave = await places.enter(filling[0].tenant.number, 1);
    try {
      return await fill(...filling);
    } finally {
      leave();
    }
  }

  async function fill(
    copy: Copy,
    projection: ReadyProjection,
    onRows: (rows: number) => void,
  ): Promise<string | undefined> {
    if (!await hasRoom(folder)) return "the disk is almost full";
    const filled = await fillCopy(world, copy, projection, onRows);
    if (filled.kind === "filled") {
      copy.tables?.set(projection.name, filled.table);
      return undefined;
    }
    copy.tables = undefined;
    host.log("warn", "A copy of a view for SQL could not be filled", {
      projection: projection.name,
      reason: filled.reason,
    });
    return filled.kind === "failed" ? filled.reason : undefined;
  }

  async function doubt(tenant: Tenant, isDamaged: boolean): Promise<void> {
    const copy = copyOf(tenant);
    await copy.inTurn(async () => {
      copy.tables = undefined;
      if (isDamaged) await copy.ask({ kind: "remove" });
    });
  }

  async function sweep(): Promise<void> {
    const nowMs = host.monotonicMs();
    for (const copy of [...copies.values()]) {
      if (copy.usedMs + IDLE_MS_MAX <= nowMs) await remove(copy, nowMs);
      else {
        await joinRound(copy, new Set(copy.tables?.keys()));
        await copy.inTurn(() => copy.ask({ kind: "tidy" }));
      }
    }
    if (startedMs + IDLE_MS_MAX > nowMs) return;
    for (const number of await listCopies(folder)) {
      if (copies.has(number)) continue;
      await writer.ask({ path: copyPath(folder, number), kind: "remove" });
    }
  }

  async function remove(copy: Copy, nowMs: number): Promise<void> {
    await copy.inTurn(async () => {
      const isUsed = copy.usedMs + IDLE_MS_MAX > nowMs || copy.fillings.size > 0;
      if (isUsed) return;
      copies.delete(copy.tenant.number);
      await copy.ask({ kind: "remove" });
    });
  }

  return {
    follow,
    doubt,
    sweep,
    measure: () => measureCopies(copies.values()),
    close: writer.close,
  };
}

function tablesOf(copy: Copy, names: ReadonlySet<string>): CopiedTable[] {
  return [...names].flatMap((name) => copy.tables?.get(name) ?? []);
}

function isTableOf(table: CopiedTable | undefined, { number, version }: ReadyProjection): boolean {
  return table?.number === number && table.version === version;
}

function measureCopies(copies: Iterable<Copy>): CopiesMeasure {
  let files = 0;
  let tables = 0;
  let filling = 0;
  for (const copy of copies) {
    files++;
    tables += copy.tables?.size ?? 0;
    filling += copy.fillings.size;
  }
  return { files, tables, filling };
}

/** Undefined if `work` takes longer. */
async function before<T>(host: Host, deadlineMs: number, work: Promise<T>): Promise<T | undefined> {
  let endTimer = () => {};
  const late = new Promise<undefined>((resolve) => {
    const leftMs = Math.max(0, deadlineMs - host.monotonicMs());
    endTimer = host.startTimer(leftMs, () => resolve(undefined));
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    endTimer();
  }
}

function failedRound(error: unknown): Round {
  return { kind: "failed", reason: reasonOf(error) };
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
