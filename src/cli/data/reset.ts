/**
 * `reset`: erases every aggregate of an environment that is not production. The API has no call
 * that empties an environment; what it has is erasure, after which each stream holds markers.
 */

import { ERASED_TYPE } from "../../domain/erasure/marker.ts";
import { isJsonObject, type JsonObject } from "../../domain/json.ts";
import { askLine, requireTerminal } from "../terminal/ask_person.ts";
import { counted } from "../spec/show_data_check.ts";
import { readDeployed } from "../spec/deploy.ts";
import type { Progress } from "../terminal/output.ts";
import { type CommonOptions, openSession, type Session } from "../connection/session.ts";
import { EXIT_MISUSED } from "../terminal/settings.ts";

export interface ResetOptions extends CommonOptions {
  readonly yes?: boolean;
}

const PAGE = 200;
/** Requests to erase that are under way at a time. */
const AT_ONCE = 16;
const REASON = "reset of the environment";
const POLL_MS = 200;

export async function reset(options: ResetOptions): Promise<void> {
  const session = await openSession(options);
  const { output, environment, server } = session;
  if (environment === "production") {
    return output.fail({
      error: "Production is never reset.",
      error_type: "misused",
      hint: "Name another environment: daybook reset --env test",
    }, EXIT_MISUSED);
  }
  const keys = await listAggregates(session);
  if (keys.length > 0 && !options.yes) {
    requireTerminal(`Add --yes to erase ${counted(keys.length, "aggregate")} of ${environment}`);
    const what = `Erase ${counted(keys.length, "aggregate")} of ${environment} (${server.origin})?`;
    const answer = askLine(`${what} This cannot be undone. Type ${environment}: `);
    if (answer !== environment) {
      return output.fail({ error: "Nothing was erased.", error_type: "misused" }, EXIT_MISUSED);
    }
  }
  const progress = output.progress(`Erasing ${keys.length} aggregates`);
  const erased = await eraseAll(session, keys, progress);
  progress.end();
  output.result(
    { environment, erased },
    () =>
      erased === 0
        ? `${environment} has no aggregates with events.`
        : `Erased ${
          counted(erased, "aggregate")
        } of ${environment}. States are empty now; ids and ` +
          "lengths stay, for each event has left a marker.",
  );
}

/** The keys of all aggregates that have anything but markers. */
async function listAggregates(session: Session): Promise<string[]> {
  const deployed = await readDeployed(session);
  if (!deployed.ok) return session.output.fail(deployed.failure, deployed.code);
  const types = isJsonObject(deployed.spec?.aggregate_types) ? deployed.spec.aggregate_types : {};
  const keys: string[] = [];
  for (const type of Object.keys(types)) {
    let start: string | undefined;
    do {
      const page = await session.data({ path: `/${type}`, query: { limit: PAGE, start } });
      keys.push(...(page.data as string[]).map((id) => `${type}:${id}`));
      start = page.next_start as string | undefined;
    } while (start !== undefined);
  }
  return keys;
}

async function eraseAll(
  session: Session,
  keys: readonly string[],
  progress: Progress,
): Promise<number> {
  const left = [...keys];
  let erased = 0;
  async function work(): Promise<void> {
    for (let key = left.pop(); key !== undefined; key = left.pop()) {
      if (await eraseOne(session, key)) erased++;
      progress.say(`Erased ${erased} of ${keys.length} aggregates`);
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return erased;
}

/** False for an aggregate that holds nothing but markers. */
async function eraseOne(session: Session, key: string): Promise<boolean> {
  const { environment } = session;
  if (await isErased(session, key)) return false;
  const instance_id = await session.instanceId();
  const answer = await session.tryOperator({
    method: "POST",
    path: "/_admin/tombstones",
    body: { key, environment, instance_id, reason: REASON, grace_hours: 0 },
  });
  if (!answer.ok) return session.output.fail(answer.failure);
  const { id } = answer.body.tombstone as JsonObject;
  for (;;) {
    const path = `/_admin/tombstones/${id}`;
    const { tombstone } = await session.operator({ path, query: { environment, instance_id } });
    if ((tombstone as JsonObject).state === "completed") return true;
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

async function isErased(session: Session, key: string): Promise<boolean> {
  const [type, id] = [key.slice(0, key.indexOf(":")), key.slice(key.indexOf(":") + 1)];
  const path = `/${type}/${encodeURIComponent(id)}/events`;
  const { data } = await session.data({ path, query: { count: 1, direction: "backwards" } });
  const [last] = data as unknown as readonly { readonly event: { readonly type: string } }[];
  return last?.event.type === ERASED_TYPE;
}
