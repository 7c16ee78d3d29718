/** Everything about anchors and evidence, bound to one engine and one host. */

import { createDueAnchors } from "./due_anchors.ts";
import { createAnchorMaker } from "./make_anchor.ts";
import { createPlatformAnchorMaker } from "./platform_anchor.ts";
import { rotateSigningKey } from "./rotate_signing_key.ts";
import type { WorkShare } from "../base/share_work.ts";
import type { InstanceAnchor, PlatformAnchor } from "../../domain/audit/anchor.ts";
import type { AttestationBundle } from "../../domain/audit/bundle.ts";
import { countDone, type Counters } from "../../domain/measures/counters.ts";
import { accept, type Outcome, refuse } from "../../domain/refusal.ts";
import type { Tenant } from "../../domain/tenant.ts";
import type { Host } from "../../host.ts";
import type { Engine } from "../../kv/engine.ts";
import type { SpecCache } from "../base/current_spec.ts";
import {
  type AnchorPage,
  type AttestationRequest,
  createAttestationReader,
  listPublicKeys,
  type PublicKey,
  readPublicKey,
  showAnchor,
  showAnchors,
} from "./read_evidence.ts";

export interface AuditService {
  attest(tenant: Tenant, request: AttestationRequest): Promise<Outcome<AttestationBundle>>;
  /**
   * Makes an anchor that covers everything written before the call. `isNew` is false if nothing
   * has changed; `anchor` is undefined in an environment without events.
   */
  makeAnchor(
    tenant: Tenant,
  ): Promise<{ readonly isNew: boolean; readonly anchor: InstanceAnchor | undefined }>;
  /** Without an id: the newest anchor. */
  readAnchor(tenant: Tenant, id?: string): Promise<Outcome<InstanceAnchor>>;
  listAnchors(
    tenant: Tenant,
    page: { readonly limit?: number; readonly start?: string },
  ): Promise<Outcome<AnchorPage>>;
  /** The keys that signed the instance's anchors; the last one is the current key. */
  listSigningKeys(tenant: Tenant): Promise<readonly PublicKey[]>;
  /** The current key alone. */
  readSigningKey(tenant: Tenant): Promise<PublicKey>;
  rotateSigningKey(tenant: Tenant): Promise<PublicKey>;
  readPlatformAnchor(): Promise<Outcome<PlatformAnchor>>;
  readPlatformKey(): Promise<PublicKey>;
  /** Makes the anchors that are due at the interval; returns their number. */
  makeDueAnchors(intervalMs: number, isStopping?: () => boolean): Promise<number>;
}

export interface AuditParts {
  readonly engine: Engine;
  readonly host: Host;
  readonly specs: SpecCache;
  readonly share: WorkShare;
  readonly counters: Counters;
}

export function createAudit(
  { engine, host, specs, share, counters }: AuditParts,
): AuditService {
  const reader = createAttestationReader(engine, specs, host);
  const maker = createAnchorMaker({ engine, host, done: () => countDone(counters) });
  const platform = createPlatformAnchorMaker(engine, host);
  const due = createDueAnchors({ engine, host, share, maker, platform });
  return {
    attest: reader.read,
    async makeAnchor(tenant) {
      const { isOfOldCut, ...made } = await maker.make(tenant);
      if (!isOfOldCut) return made;
      const { anchor } = await maker.make(tenant);
      return { isNew: true, anchor };
    },
    readAnchor: (tenant, id) => showAnchor(engine, tenant, id),
    listAnchors: (tenant, page) => showAnchors(engine, tenant, page),
    listSigningKeys: (tenant) => listPublicKeys(engine, host, tenant),
    readSigningKey: (tenant) => readPublicKey(engine, tenant),
    async rotateSigningKey({ instanceId }) {
      const { public_key, created_at } = await rotateSigningKey(engine, host, instanceId);
      return { public_key, created_at };
    },
    async readPlatformAnchor() {
      const anchor = await platform.latest();
      return anchor === undefined ? refuse({ kind: "anchor_not_found" }) : accept(anchor);
    },
    async readPlatformKey() {
      const { public_key, created_at } = await platform.key();
      return { public_key, created_at };
    },
    makeDueAnchors: due.drain,
  };
}
