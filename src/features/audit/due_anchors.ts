/**
 * Makes the anchors that are due. Each environment gets one per interval if something has
 * changed; then one platform anchor covers them. See docs/reference/audit.md.
 */

import { ENVIRONMENTS, type Tenant } from "../../domain/tenant.ts";
import { isOutage } from "../../domain/outage.ts";
import type { Host } from "../../host.ts";
import type { Engine } from "../../kv/engine.ts";
import { readAnchor } from "../../store/audit/anchors.ts";
import { type InstanceRecord, listInstances, tenantOf } from "../../store/access/instances.ts";
import type { WorkShare } from "../base/share_work.ts";
import type { AnchorMaker } from "./make_anchor.ts";
import type { PlatformAnchorMaker } from "./platform_anchor.ts";

export interface DueAnchors {
  /** Returns how many anchors were made. Stops early once `isStopping` returns true. */
  drain(intervalMs: number, isStopping?: () => boolean): Promise<number>;
}

const INSTANCE_PAGE = 500;

export interface DueAnchorParts {
  readonly engine: Engine;
  readonly host: Host;
  readonly share: WorkShare;
  readonly maker: AnchorMaker;
  readonly platform: PlatformAnchorMaker;
}

export function createDueAnchors(
  { engine, host, share, maker, platform }: DueAnchorParts,
): DueAnchors {
  /** By tenant number: when the newest anchor of the environment was made, or was last due. */
  const lastMs = new Map<number, number>();
  let platformMs: number | undefined;

  async function isDue(tenant: Tenant, createdMs: number, intervalMs: number): Promise<boolean> {
    let last = lastMs.get(tenant.number);
    if (last === undefined) {
      const newest = await engine.snapshot((tx) => readAnchor(tx, tenant.number));
      last = newest === undefined ? createdMs : Date.parse(newest.anchor.created_at);
      lastMs.set(tenant.number, last);
    }
    return isOver(last, host.nowMs(), intervalMs);
  }

  async function drain(intervalMs: number, isStopping = () => false): Promise<number> {
    if ((await share.held("anchor")).length === 0) return 0;
    let made = 0;
    let after: string | undefined;
    for (let count = INSTANCE_PAGE; count === INSTANCE_PAGE && !isStopping();) {
      const page = await engine.snapshot((tx) => listInstances(tx, INSTANCE_PAGE, after));
      for (const instance of page) made += await drainInstance(instance, intervalMs, isStopping);
      count = page.length;
      after = page.at(-1)?.id;
    }
    return made + await drainPlatform(intervalMs);
  }

  async function drainInstance(
    instance: InstanceRecord,
    intervalMs: number,
    isStopping: () => boolean,
  ): Promise<number> {
    let made = 0;
    for (const environment of ENVIRONMENTS) {
      const tenant = tenantOf(instance, environment);
      if (isStopping()) return made;
      if (!await isDue(tenant, Date.parse(instance.created_at), intervalMs)) continue;
      const nowMs = host.nowMs();
      const anchor = await maker.make(tenant).catch((error) => leaveAsItIs(tenant, error));
      if (anchor?.isNew) made++;
      // After an anchor of an old cut, the one that is due is made at the next check.
      if (anchor?.isOfOldCut === false) lastMs.set(tenant.number, nowMs);
    }
    return made;
  }

  /**
   * An environment that has no anchor, such as one whose streams are erased all the time, must not
   * hold up the others. An outage is thrown instead. The next check tries again.
   */
  function leaveAsItIs({ instanceId, environment }: Tenant, error: unknown): undefined {
    if (!(error instanceof Error) || isOutage(error)) throw error;
    const fields = { instance: instanceId, environment, reason: error.message };
    host.log("error", "An anchor that is due could not be made", fields);
  }

  async function drainPlatform(intervalMs: number): Promise<number> {
    const nowMs = host.nowMs();
    if (platformMs === undefined) {
      const newest = await platform.latest();
      platformMs = newest === undefined ? 0 : Date.parse(newest.created_at);
    }
    if (!isOver(platformMs, nowMs, intervalMs)) return 0;
    const { isNew } = await platform.make();
    platformMs = nowMs;
    return isNew ? 1 : 0;
  }

  return { drain };
}

/** Also true if the clock was set back: otherwise there would be no anchor until it caught up. */
function isOver(sinceMs: number, nowMs: number, intervalMs: number): boolean {
  return Math.abs(nowMs - sinceMs) >= intervalMs;
}
