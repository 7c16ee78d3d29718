/** What is wrong in the environment, as far as the credential may see it, and where to act. */

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
}

const DAY_MS = 86_400_000;
/** So many commits behind, a projection is worth a look. */
const LAG_MAX = 1_000;
const PAGE = 100;

type Look = (at: Connection, signal: AbortSignal, nowMs: number) => Promise<readonly Trouble[]>;

const LOOKS: readonly Look[] = [lookAtListeners, lookAtSagas, lookAtErrors];
/** For operators alone: no API key may make these calls. */
const OPERATOR_LOOKS: readonly Look[] = [lookAtProjections, lookAtReactions];

/** A look that the server refuses finds nothing; its own page says why. */
export async function findTroubles(
  at: Connection,
  signal: AbortSignal,
  nowMs: number,
): Promise<Troubles> {
  const looks = at.admin === undefined ? LOOKS : [...LOOKS, ...OPERATOR_LOOKS];
  const found = await Promise.all(looks.map((look) => look(at, signal, nowMs)));
  return { ok: true, found: found.flat() };
}

async function lookAtListeners({ db }: Connection, signal: AbortSignal): Promise<Trouble[]> {
  const page = await db.$listeners.listPage({ limit: PAGE, signal });
  if (!page.ok) return [];
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

async function lookAtSagas({ db }: Connection, signal: AbortSignal): Promise<Trouble[]> {
  const page = await db.$sagas.listPage({ state: "failed", limit: PAGE, signal });
  if (!page.ok || page.data.length === 0) return [];
  const says = `${counted(page.data.length, "saga", "sagas", page.truncated)} failed.`;
  return [{ says, path: ["reactions", "sagas"], query: { state: "failed" } }];
}

async function lookAtErrors(
  { db }: Connection,
  signal: AbortSignal,
  nowMs: number,
): Promise<Trouble[]> {
  const page = await db.$errors.listPage({ limit: PAGE, signal });
  if (!page.ok) return [];
  const recent = page.data.filter(({ occurred_at }) => nowMs - Date.parse(occurred_at) < DAY_MS);
  if (recent.length === 0) return [];
  const isMore = page.truncated && recent.length === page.data.length;
  const says = `${counted(recent.length, "error", "errors", isMore)} within the last day.`;
  return [{ says, path: ["reactions", "errors"] }];
}

async function lookAtProjections({ admin }: Connection, signal: AbortSignal): Promise<Trouble[]> {
  const page = await admin!.projections.listPage({ limit: PAGE, signal });
  if (!page.ok) return [];
  return page.data.flatMap(({ name, state, lag }) => {
    const path = ["projections", "tables", name];
    if (state === "broken") return [{ says: `The projection ${name} is broken.`, path }];
    if (lag <= LAG_MAX) return [];
    return [{
      says: `The projection ${name} is ${lag.toLocaleString("en")} commits behind.`,
      path,
    }];
  });
}

async function lookAtReactions({ admin }: Connection, signal: AbortSignal): Promise<Trouble[]> {
  const page = await admin!.reactions.pending({ limit: 1, signal });
  if (!page.ok || !page.paused) return [];
  return [{ says: "Reactions are paused.", path: ["reactions", "pending"] }];
}

function counted(count: number, one: string, many: string, isMore = false): string {
  return `${count.toLocaleString("en")}${isMore ? " or more" : ""} ${count === 1 ? one : many}`;
}
