/** `state`: prints the state of an aggregate, now, as it was, or again after each change. */

import type { JsonObject } from "../../domain/json.ts";
import { parseAggregateKey, pathOfKey } from "./aggregate_key.ts";
import { type CommonOptions, openSession, type Session } from "../connection/session.ts";
import { followLive, openClient } from "../connection/follow_live.ts";

export interface StateOptions extends CommonOptions {
  readonly at?: string;
  readonly atLength?: string;
  readonly live?: boolean;
}

export async function state(key: string, options: StateOptions): Promise<void> {
  const session = await openSession(options);
  const path = pathOfKey(session.output, key);
  if (options.live) return await followState(session, key);
  const query = { at: options.at, at_length: options.atLength };
  const { data, metadata } = await session.data({ path, query });
  session.output.result({ key, data, metadata }, () => stateText(session, { data, metadata }));
}

async function followState(session: Session, key: string): Promise<void> {
  // Tells of a wrong type, id or credential at once; without events there is none yet, but a state
  // to wait for.
  await session.data({ path: `${pathOfKey(session.output, key)}/length` });
  const { type, id } = parseAggregateKey(key)!;
  const client = await openClient(session);
  await followLive(session, client[type]!(id).live(), ({ data, metadata }) => {
    const shown = { data, metadata } as unknown as JsonObject;
    session.output.line({ key, data, metadata }, () => stateText(session, shown));
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
