/** What is wrong in the environment, as far as the credential may see it, and where to act. */

import type { Refusal } from "@daybook/client";
import type { Connection } from "../shell/connection.ts";

export interface Trouble {
  /** One sentence. */
  readonly says: string;
  /** The address of the view where one acts. */
  readonly path: readonly string[];
  readonly query?: Readonly<Record<string, string>>;
}

export interface Troubles {
  readonly ok: true;
  readonly found: readonly Trouble[];
  /** What could not be looked at, and why. */
  readonly unchecked: readonly Unchecked[];
}

export interface Unchecked {
  /** What the look is about, in words. */
  readonly what: string;
  readonly refusal: Refusal;
}

const DAY_MS = 86_400_000;
/** So many commits behind, a projection is worth a look. The server counts no further. */
const LAG_COUNTED = 1_000;
const PAGE = 100;
/** Who has paused the environments of a deployment that was restored from a backup. */
const RESTORE = "restore";

interface Look {
  readonly what: string;
  readonly find: (
    at: Connection,
    signal: AbortSignal,
    nowMs: number,
  ) => Promise<readonly Trouble[] | Refusal>;
}

const LOOKS: readonly Look[] = [
  { what: "listeners", find: lookAtListeners },
  { what: "sagas", find: lookAtSagas },
  { what: "errors", find: lookAtErrors },
];
/** For operators alone: no API key may make these calls. */
const OPERATOR_LOOKS: readonly Look[] = [
  { what: "projections", find: lookAtProjections },
  { what: "whether reactions are paused", find: lookAtReactions },
];

/** Looks at everything at once. A look that is refused does not hold up the others. */
export async function findTroubles(
  at: Connection,
  signal: AbortSignal,
  nowMs: number,
): Promise<Troubles> {
  const looks = at.admin === undefined ? LOOKS : [...LOOKS, ...OPERATOR_LOOKS];
  const found: Trouble[] = [];
  const unchecked: Unchecked[] = [];
  const answers = await Promise.all(looks.map(({ find }) => find(at, signal, nowMs)));
  for (const [index, answer] of answers.entries()) {
    if ("ok" in answer) unchecked.push({ what: looks[index]!.what, refusal: answer });
    else found.push(...answer);
  }
  return { ok: true, found, unchecked };
}

async function lookAtListeners(
  { db }: Connection,
  signal: AbortSignal,
): Promise<Trouble[] | Refusal> {
  const page = await db.$listeners.listPage({ limit: PAGE, signal });
  if (!page.ok) return page as Refusal;
  return page.data.flatMap(({ name, deliveries, circuit }) => {
    const path = ["reactions", "listeners", name];
    const troubles: Trouble[] = [];
    if (circuit.state === "open") {
      troubles.push({ says: `The listener ${name} fails; deliveries to it wait.`, path });
    }
    if (deliveries.dead > 0) {
      const says = `${
        counted(deliveries.dead, "delivery", "deliveries")
      } to ${name} were given up.`;
      troubles.push({ says, path, query: { state: "dead" } });
    }
    return troubles;
  });
}

async function lookAtSagas({ db }: Connection, signal: AbortSignal): Promise<Trouble[] | Refusal> {
  const page = await db.$sagas.listPage({ state: "failed", limit: PAGE, signal });
  if (!page.ok) return page as Refusal;
  if (page.data.length === 0) return [];
  const says = `${counted(page.data.length, "saga", "sagas", page.truncated)} failed.`;
  return [{ says, path: ["reactions", "sagas"], query: { state: "failed" } }];
}

async function lookAtErrors(
  { db }: Connection,
  signal: AbortSignal,
  nowMs: number,
): Promise<Trouble[] | Refusal> {
  const page = await db.$errors.listPage({ limit: PAGE, signal });
  if (!page.ok) return page as Refusal;
  const recent = page.data.filter(({ occurred_at }) => nowMs - Date.parse(occurred_at) < DAY_MS);
  if (recent.length === 0) return [];
  const isMore = page.truncated && recent.length === page.data.length;
  const says = `${counted(recent.length, "error", "errors", isMore)} within the last day.`;
  return [{ says, path: ["reactions", "errors"] }];
}

async function lookAtProjections(
  { admin }: Connection,
  signal: AbortSignal,
): Promise<Trouble[] | Refusal> {
  const page = await admin!.projections.listPage({ limit: PAGE, signal });
  if (!page.ok) return page as Refusal;
  return page.data.flatMap(({ name, state, lag }) => {
    const path = ["projections", "tables", name];
    if (state === "broken") return [{ says: `The projection ${name} is broken.`, path }];
    if (lag < LAG_COUNTED) return [];
    return [{
      says: `The projection ${name} is ${lag.toLocaleString("en")} or more commits behind.`,
      path,
    }];
  });
}

async function lookAtReactions(
  { admin }: Connection,
  signal: AbortSignal,
): Promise<Trouble[] | Refusal> {
  const page = await admin!.reactions.pending({ limit: 1, signal });
  if (!page.ok) return page as Refusal;
  if (!page.paused) return [];
  const says = page.paused_by === RESTORE
    ? "This deployment was restored and waits. Reactions, deliveries and anchors go on after " +
      "the command daybook resume."
    : "Reactions are paused.";
  return [{ says, path: ["reactions", "pending"] }];
}

function counted(count: number, one: string, many: string, isMore = false): string {
  return `${count.toLocaleString("en")}${isMore ? " or more" : ""} ${count === 1 ? one : many}`;
}
