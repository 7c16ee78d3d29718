/**
 * Counts what a run has covered: each kind of operation, its acceptances, and the refusals. A
 * comparison of nothing but refusals would prove little.
 */

import type { Operation } from "./operation.ts";
import { REACHABLE_KINDS, refusalKinds } from "./refusal_kind.ts";
import type { Reply } from "./subject.ts";
import { LONG_TRACE_OPERATIONS } from "./trace.ts";

export interface Census {
  /** Must be called with each operation and its replies. */
  count(operation: Operation, replies: readonly Reply[]): void;
  /** Returns what is missing for a trace of `operations`; empty if everything is covered. */
  gaps(operations: number): string[];
  /** All figures, for people. */
  report(): string;
}

const decoder = new TextDecoder();

/** How often each operation comes at least in 1,000, and how many of them must be accepted. */
const SHARES: readonly (readonly [name: string, perThousand: number, accepted: number])[] = [
  ["single_write", 100, 90],
  ["single_write_guarded", 40, 25],
  ["batch_write", 30, 20],
  ["batch_write_of_hundreds", 1, 0.5],
  ["atomic_write", 25, 15],
  ["large_write", 1, 1],
  ["repeat", 5, 5],
  ["repeat_reordered", 5, 5],
  ["repeat_elsewhere", 5, 5],
  ["repeat_changed", 5, 0],
  ["refused_write", 70, 0],
  ["read_state", 25, 25],
  ["read_state_synchronous", 10, 10],
  ["read_state_at", 10, 3],
  ["read_length", 15, 15],
  ["read_events_forwards", 15, 15],
  ["read_events_backwards", 15, 15],
  ["read_events_on", 15, 15],
  ["list_ids", 4, 4],
  ["list_resolved", 4, 4],
  ["list_on", 3, 3],
  ["odd_read", 12, 0],
  ["odd_request", 12, 0],
  ["operator_call", 12, 3],
  ["issue_key", 2, 2],
  ["use_key", 6, 2],
  ["read_error", 1, 1],
  ["make_anchor", 6, 4],
  ["read_anchors", 2, 1],
  ["attest", 8, 3],
  ["odd_question", 1.5, 0],
  ["request_erasure", 2, 1],
  ["read_erasure", 2, 2],
  ["odd_erasure", 0.5, 0],
  ["list_erasures", 1, 1],
];

/** Operations that come at least once in every trace, however short. */
const ONCE: readonly string[] = [
  "batch_write_of_thousands",
  "write_twice_at_once",
  "read_during_write",
  "write_unavailable",
  "reuse_of_forgotten_key",
  "write_broken",
  "create_instance",
  "rotate_key",
  "revoke_key",
  "schedule_revocation",
  "deploy_next",
  "deploy_same",
  "deploy_dry",
  "deploy_incompatible",
  "deploy_invalid",
  "deploy_forced",
  "deploy_forbidden",
  "deploy_oversized",
  "a_day_passes",
  "restart",
  "drain",
  "rotate_signing_key",
  "read_erased",
  "take_back_erasure",
];

const ONCE_IN_LONG: readonly string[] = [
  "bulk_write",
  "bulk_write_refused",
  "add_user",
  "log_in",
];

/** Operations that must never be accepted. */
const NEVER_ACCEPTED: readonly string[] = [
  "repeat_changed",
  "refused_write",
  "bulk_write_refused",
  "write_broken",
  "write_unavailable",
  "deploy_incompatible",
  "deploy_invalid",
  "deploy_forbidden",
  "deploy_oversized",
];

export function openCensus(): Census {
  const ran = new Map<string, number>();
  const accepted = new Map<string, number>();
  const refused = new Map<string, number>();
  const statuses = new Map<string, number>();
  const unclear: string[] = [];
  const add = (counts: Map<string, number>, name: string) =>
    counts.set(name, (counts.get(name) ?? 0) + 1);

  function count(operation: Operation, replies: readonly Reply[]): void {
    add(ran, operation.name);
    if (replies.length > 0 && replies[0]!.status < 300) add(accepted, operation.name);
    if (operation.kind !== "request") return;
    for (const [index, reply] of replies.entries()) {
      add(statuses, String(reply.status));
      const sent = index === 0 ? operation.sent : operation.meanwhile!;
      if (reply.body.length > 0) countRefusal(sent.path, reply);
    }
  }

  function countRefusal(path: string, { status, body }: Reply): void {
    if (status < 400 || status >= 500) return;
    const { error, error_type: errorType } = JSON.parse(decoder.decode(body));
    const kinds = refusalKinds({ path, status, error, errorType });
    if (kinds.length !== 1) unclear.push(`${status} '${error}' may be [${kinds}]`);
    for (const kind of kinds) add(refused, kind);
  }

  function gaps(operations: number): string[] {
    const isLong = operations >= LONG_TRACE_OPERATIONS;
    const rare = isLong ? [...ONCE, ...ONCE_IN_LONG] : ONCE;
    const thousands = operations / 1000;
    const rows = [...SHARES, ...rare.map((name) => [name, 1 / thousands, 0] as const)];
    const few = rows.flatMap(([name, share, landing]) => {
      const line = (what: string, is: number, least: number) =>
        is < Math.floor(least) ? [`${name}: ${what} ${is} times, not ${Math.floor(least)}`] : [];
      return [
        ...line("ran", ran.get(name) ?? 0, share * thousands + 1e-9),
        ...line("was accepted", accepted.get(name) ?? 0, landing * thousands),
      ];
    });
    const missing = REACHABLE_KINDS
      .filter((kind) => !refused.has(kind) && (isLong || kind !== "login_locked"))
      .map((kind) => `no refusal of kind ${kind}`);
    const wrong = NEVER_ACCEPTED.filter((name) => accepted.has(name))
      .map((name) => `${name}: was accepted ${accepted.get(name)} times`);
    return [...unclear, ...wrong, ...few, ...missing];
  }

  function report(): string {
    const list = (counts: Map<string, number>) =>
      [...counts].sort(([a], [b]) => a < b ? -1 : 1).map(([name, n]) => `${name} ${n}`).join(", ");
    const shares = [...ran].sort(([a], [b]) => a < b ? -1 : 1)
      .map(([name, n]) => `${name} ${n} (${accepted.get(name) ?? 0} accepted)`);
    return `operations: ${shares.join(", ")}\nrefusals: ${list(refused)}\nstatuses: ${
      list(statuses)
    }`;
  }

  return { count, gaps, report };
}
