/**
 * Finds the holder of an API key, with a cache of known keys.
 *
 * Every request takes this path, so known keys are remembered by the key itself: hashing it
 * each time would show in the cost of a cached read. A call for a remembered key is one lookup
 * and returns a promise made earlier. The store knows keys only by their SHA-256. Keys are
 * never compared with each other, so timing reveals nothing about them. See
 * docs/reference/basics.md.
 */

import type { KeyHolder } from "../../domain/access/access.ts";
import { hashApiKey, isApiKey } from "../../domain/access/api_key.ts";
import { createRecentTexts } from "../../domain/recent_map.ts";
import { accept, type Outcome, refuse } from "../../domain/refusal.ts";
import type { Environment } from "../../domain/tenant.ts";
import type { Host } from "../../host.ts";
import type { Engine } from "../../kv/engine.ts";
import { readApiKeyByHash } from "../../store/access/api_keys.ts";
import { readInstance, tenantOf, viewInstance } from "../../store/access/instances.ts";
import { keys } from "../../store/keys.ts";
import { followVersion } from "../base/follow_version.ts";
import { TextMap } from "../../domain/lookup/text_map.ts";

/** About 1 KB each. Unknown keys are not remembered, so guesses cannot push out real keys. */
const REMEMBERED_MAX = 10_000;

type Answer = Promise<Outcome<KeyHolder>>;

interface Remembered {
  readonly instanceId: string;
  readonly environment: Environment;
  readonly slug: string;
  /** Infinity if no end is set. */
  readonly endsMs: number;
  readonly answer: Answer;
}

export interface KeyAuthenticator {
  /**
   * 401 if the token is not a key, unknown or revoked; 403 if the key belongs to another
   * environment, or to another instance than `slug` names. Throws if the store is unavailable
   * and the key is not remembered.
   */
  authenticate(token: string, environment: Environment, slug?: string): Answer;
  /** The instance of a key that was valid lately, without a look into the store. */
  instanceOf(token: string): string | undefined;
  /** Forgets all keys at once; call after each change made in this process. */
  forget(): void;
  close(): Promise<void>;
}

const UNKNOWN_KEY: Answer = refused("unauthorized", "Invalid API key");
const OTHER_ENVIRONMENT: Answer = refused(
  "forbidden",
  "The API key belongs to another environment",
);
const OTHER_INSTANCE: Answer = refused("forbidden", "The API key belongs to another instance");

export function keyAuthenticator(engine: Engine, host: Host): KeyAuthenticator {
  /** Both maps are keyed by the API key. */
  const remembered = createRecentTexts<Remembered>(REMEMBERED_MAX);
  const loading = new TextMap<Promise<Remembered | undefined>>();
  let era = 0;

  function forget(): void {
    // Reads under way may already be outdated: no caller may join them, and their results are
    // not kept.
    era++;
    remembered.clear();
    loading.clear();
  }

  const follower = followVersion(engine, host, keys.accessVersion(), forget);

  function load(token: string): Promise<Remembered | undefined> {
    const joined = loading.get(token);
    if (joined !== undefined) return joined;
    const startedIn = era;
    const read = readHolder(engine, hashApiKey(token)).then((holder) => {
      if (holder !== undefined && era === startedIn) remembered.set(token, holder);
      return holder;
    }).finally(() => {
      if (era === startedIn) loading.delete(token);
    });
    loading.set(token, read);
    return read;
  }

  return {
    authenticate(token, environment, slug) {
      const nowMs = host.nowMs();
      const holder = follower.isFresh(nowMs) ? remembered.get(token) : undefined;
      if (holder !== undefined) return judge(holder, environment, slug, nowMs);
      if (!isApiKey(token)) return UNKNOWN_KEY;
      return load(token).then((found) => judge(found, environment, slug, nowMs));
    },
    instanceOf: (token) => remembered.get(token)?.instanceId,
    forget,
    close: follower.close,
  };
}

function judge(
  holder: Remembered | undefined,
  environment: Environment,
  slug: string | undefined,
  nowMs: number,
): Answer {
  if (holder === undefined || nowMs >= holder.endsMs) return UNKNOWN_KEY;
  if (holder.environment !== environment) return OTHER_ENVIRONMENT;
  if (slug !== undefined && holder.slug !== slug) return OTHER_INSTANCE;
  return holder.answer;
}

function readHolder(engine: Engine, keyHash: string): Promise<Remembered | undefined> {
  return engine.snapshot(async (tx): Promise<Remembered | undefined> => {
    const record = await readApiKeyByHash(tx, keyHash);
    const instance = record && await readInstance(tx, record.instance_id);
    if (record === undefined || instance === undefined) return undefined;
    const holder: KeyHolder = {
      keyId: record.id,
      instance: viewInstance(instance),
      tenant: tenantOf(instance, record.environment),
      scope: record.scope,
    };
    return {
      instanceId: instance.id,
      environment: record.environment,
      slug: instance.slug,
      endsMs: record.revoke_at === undefined ? Infinity : Date.parse(record.revoke_at),
      answer: Promise.resolve(accept(holder)),
    };
  });
}

function refused(kind: "unauthorized" | "forbidden", message: string): Answer {
  return Promise.resolve(refuse({ kind, message }));
}
