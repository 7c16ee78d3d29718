/** `state`: prints the state of an aggregate, now, as it was, or again after each change. */

import type { JsonObject } from "../domain/json.ts";
import { pathOfKey } from "./aggregate_key.ts";
import { type CommonOptions, openSession, type Session } from "./session.ts";
import { keepFollowing } from "./keep_following.ts";

export interface StateOptions extends CommonOptions {
  readonly at?: string;
  readonly atLength?: string;
  readonly live?: boolean;
}

export async function state(key: string, options: StateOptions): Promise<void> {
  const session = await openSession(options);
  const path = pathOfKey(session.output, key);
  if (options.live) return await followState(session, key, path);
  const query = { at: options.at, at_length: options.atLength };
  const { data, metadata } = await session.data({ path, query });
  session.output.result({ key, data, metadata }, () => stateText(session, { data, metadata }));
}

async function followState(session: Session, key: string, path: string): Promise<void> {
  let after_length = 0;
  await keepFollowing(session, {
    call: () => ({ path, query: { live: "sse", after_length } }),
    take(line) {
      if (line.type !== "state") return;
      const { data, metadata } = line;
      after_length = (metadata as { readonly length: number }).length;
      session.output.line({ key, data, metadata }, () => stateText(session, line));
    },
  });
}

function stateText(
  { output: { paint } }: Session,
  { data, metadata }: Partial<JsonObject>,
): string {
  const { length, updated_at } = metadata as {
    readonly length: number;
    readonly updated_at: number | null;
  };
  const when = updated_at === null ? "" : `, last at ${timeText(updated_at)}`;
  const about = paint("dim", `${length} event${length === 1 ? "" : "s"}${when}`);
  return `${JSON.stringify(data, null, 2)}\n${about}`;
}

/** Unix seconds as ISO 8601 without fractions. */
export function timeText(seconds: number): string {
  return new Date(seconds * 1000).toISOString().replace(".000Z", "Z");
}
