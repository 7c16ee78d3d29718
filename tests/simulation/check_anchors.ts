/**
 * Checks anchors: each signs the tree over everything that was committed before its cut. The
 * tree is computed again from the events alone and must hold nothing else. The last anchor
 * covers everything, and bundles prove their events to a verifier that knows only the key.
 */

import { createPublicKey, verify } from "node:crypto";
import { Buffer } from "node:buffer";
import { judgeBundle } from "../../scripts/verify_bundle.ts";
import type { InstanceAnchor } from "../../src/domain/audit/anchor.ts";
import { textOf } from "../../src/kv/byte_text.ts";
import { decodeRecord } from "../../src/store/json_record.ts";
import { keys } from "../../src/store/keys.ts";
import type { Census } from "./census.ts";
import { groupBy } from "./compare.ts";
import type { Evidence, Placed } from "./evidence.ts";
import { PUBLIC_KEY, TENANT } from "./founding.ts";
import { treeRoot } from "./merkle_model.ts";
import type { EndedWorld } from "./world.ts";

interface Published {
  readonly anchor: InstanceAnchor;
  readonly version: number;
}

export function checkAnchors(evidence: Evidence, census: Census): string[] {
  const { world, events } = evidence;
  if (!world.weather.hasAnchors) return [];
  const published = readAnchors(world);
  const cuts = world.store.history(textOf(keys.auditEpoch(TENANT.number)))
    .map(({ version }) => version);
  const faults: string[] = [];
  if (cuts.length !== published.length) {
    faults.push(`${cuts.length} cuts were made, and ${published.length} anchors`);
  }
  for (const [index, each] of published.entries()) {
    const cut = cuts[index]!;
    const covered = events.filter(({ version }) => version < cut);
    const found = faultsOf(each.anchor, covered);
    faults.push(...[...found].map((fault) => `anchor ${index + 1}: ${fault}`));
    countAnchor(census, evidence, cut, each);
  }
  const last = published.at(-1)?.anchor.event_count ?? 0;
  if (last !== events.length) {
    faults.push(`the last anchor has ${last} of ${events.length} events`);
  }
  return [...faults, ...checkBundles(evidence, published, census)];
}

function readAnchors({ store }: EndedWorld): Published[] {
  return store.keysWithin(keys.anchors(TENANT.number)).map((key) => {
    const [first] = store.history(key);
    return { anchor: decodeRecord<InstanceAnchor>(first!.value!), version: first!.version };
  });
}

function* faultsOf(anchor: InstanceAnchor, covered: readonly Placed[]): Generator<string> {
  const streams = [...groupBy(covered, ({ event }) => event.key)]
    .sort(([a], [b]) => a < b ? -1 : 1);
  const root = treeRoot(streams.map(([, placed]) => treeRoot(placed.map(({ hash }) => hash))));
  if (anchor.event_count !== covered.length) {
    yield `it has ${anchor.event_count} events of ${covered.length} before its cut`;
  }
  if (anchor.stream_count !== streams.length) yield `it has ${anchor.stream_count} streams`;
  if (anchor.merkle_root !== root) yield "its root is that of another tree";
  const { format, instance_id, environment } = anchor;
  if (format !== 2 || instance_id !== TENANT.instanceId || environment !== TENANT.environment) {
    yield `it is of ${environment} of ${instance_id}, format ${format}`;
  }
  if (!isSigned(anchor)) yield "its signature is not that of the instance";
}

function isSigned(anchor: InstanceAnchor): boolean {
  const { instance_id, environment, merkle_root, event_count, stream_count, created_at } = anchor;
  const payload = JSON.stringify({
    format: 2,
    scope: "instance",
    instance_id,
    environment,
    merkle_root,
    event_count,
    stream_count,
    created_at,
  });
  const x = Buffer.from(PUBLIC_KEY, "hex").toString("base64url");
  const key = createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x }, format: "jwk" });
  return anchor.public_key === PUBLIC_KEY &&
    verify(null, Buffer.from(payload), key, Buffer.from(anchor.signature, "hex"));
}

function checkBundles(
  { world, streams }: Evidence,
  published: readonly Published[],
  census: Census,
): string[] {
  const faults: string[] = [];
  for (const { stream, index, anchor, bundle } of world.bundles) {
    const name = `the bundle of ${stream} ${index} under ${anchor}`;
    const text = new TextEncoder().encode(JSON.stringify(bundle));
    const verdict = judgeBundle(text, { key: PUBLIC_KEY, stream, index });
    if (verdict !== "ok") faults.push(`${name}: ${verdict}`);
    const known = published.find((each) => each.anchor.id === anchor)?.anchor;
    const isOf = known !== undefined && bundle.anchor.merkle_root === known.merkle_root;
    if (!isOf) faults.push(`${name} is of another anchor`);
    if (bundle.event.raw !== streams.get(stream)?.[index]?.raw) faults.push(`${name} lies`);
    census.count("bundles");
  }
  return faults;
}

function countAnchor(
  census: Census,
  { world: { commits }, events }: Evidence,
  cut: number,
  { version }: Published,
): void {
  census.count("anchors");
  if (commits.get(cut)?.process !== commits.get(version)?.process) {
    census.count("anchors ended by another process than began them");
  }
  if (events.some((event) => event.version > cut && event.version < version)) {
    census.count("anchors in the making of which others wrote");
  }
}
