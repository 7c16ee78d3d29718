/** The deployed spec of the environment, for operators; with a key it cannot be read. */

import { connection } from "./connection.ts";

/** The aggregate types of the spec by name; undefined without a token or a spec. */
export async function readAggregateTypes(
  signal: AbortSignal,
): Promise<Readonly<Record<string, unknown>> | undefined> {
  const { admin } = connection.peek();
  if (admin === undefined) return undefined;
  const answer = await admin.specs.current({ signal });
  if (!answer.ok) return undefined;
  const { aggregate_types } = answer.spec as { aggregate_types?: Record<string, unknown> };
  return aggregate_types;
}
