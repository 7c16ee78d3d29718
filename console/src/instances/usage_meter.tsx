/** How many events of a month were written, against the limit of the tier. */

import type { Environment, Usage } from "@daybook/client/admin";
import { TimeText } from "../parts/time_text.tsx";
import { connection } from "../shell/connection.ts";
import { useLoaded } from "../shell/loaded.ts";

export interface UsageMeterProps {
  readonly id: string;
  readonly environment: Environment;
  /** Asks anew when it changes, such as the tier. */
  readonly reason?: unknown;
}

export function UsageMeter({ id, environment, reason }: UsageMeterProps) {
  const { admin } = connection.value;
  const usage = useLoaded((signal) =>
    admin!.request<Usage>({
      path: `/api/instances/${encodeURIComponent(id)}/usage`,
      query: { environment },
      signal,
    }), [admin, id, environment, reason]);
  const { value, refusal } = usage.now.value;
  if (refusal !== undefined) return <span class="fault">{refusal.error}</span>;
  if (value === undefined) return <span class="quiet">Loading</span>;
  const { events_written: written, limit, resets_at } = value;
  if (limit === null) return <>{number(written)} events, no limit</>;
  return (
    <>
      <meter
        aria-label={`Events of this month in ${environment}`}
        min={0}
        max={limit}
        high={limit * 0.9}
        optimum={0}
        value={Math.min(written, limit)}
      />{" "}
      {number(written)} of {number(limit)} events; counted anew <TimeText at={resets_at} />
    </>
  );
}

export function number(count: number): string {
  return count.toLocaleString("en");
}
