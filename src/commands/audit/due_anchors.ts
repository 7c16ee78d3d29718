/**
 * Makes the anchors whose time has come: in each environment once an interval, if something has
 * changed; then one of the platform over them. Decided in "Audit endpoints".
 */

import { ENVIRONMENTS, type Tenant } from "../../domain/tenant.ts";
import type { Host } from "../../host.ts";
import type { Engine } from "../../kv/engine.ts";
import { readAnchor } from "../../store/anchors.ts";
import { type InstanceRecord, listInstances, tenantOf } from "../../store/instances.ts";
import type { WorkShare } from "../share_work.ts";
import type { AnchorMaker } from "./make_anchor.ts";
import type { PlatformAnchorMaker } from "./platform_anchor.ts";

export interface DueAnchors {
  /** Gives how many anchors were made; stops early once `isStopping` says so. */
  drain(intervalMs: number, isStopping: () => boolean): Promise<number>;
}

const INSTANCE_PAGE = 500;

export function createDueAnchors(
  engine: Engine,
  host: Host,
  share: WorkShare,
  maker: AnchorMaker,
  platform: PlatformAnchorMaker,
): DueAnchors {
  /** When the newest anchor of an environment was due or made last, by tenant number. */
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

  async function drain(intervalMs: number, isStopping: () => boolean): Promise<number> {
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
      const { isNew, isOfOldCut } = await maker.make(tenant);
      if (isNew) made++;
      // Then the one that is due comes with the next look.
      if (!isOfOldCut) lastMs.set(tenant.number, nowMs);
    }
    return made;
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

/** Also where the clock was set back: else there would be no anchors until it is where it was. */
function isOver(sinceMs: number, nowMs: number, intervalMs: number): boolean {
  return Math.abs(nowMs - sinceMs) >= intervalMs;
}
