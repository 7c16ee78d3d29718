/**
 * Lets WebAssembly modules judge events before they are written. A module may take seconds, so
 * it is asked before the transaction. The transaction writes nothing if the stream has moved
 * since; then the module is asked again. So every stored event was accepted by its handler on
 * exactly the state that it follows. See docs/reference/modules.md.
 *
 * Writes to one stream are judged one after the other, each on the state that the writes before
 * it will leave, and are written together. A write to several streams waits for its turn on all
 * of them. Writes to types without modules do not come here.
 */

import { openWaitingRoom } from "../../domain/fairness/shares.ts";
import { createRecentTexts } from "../../domain/recent_map.ts";
import { type Outcome, refuse } from "../../domain/refusal.ts";
import type { Written } from "../../domain/write/write.ts";
import {
  needsVerdict,
  openScene,
  type Scene,
  type SceneParts,
  type Verdict,
} from "./judge_scene.ts";
import {
  NOTHING_WRITTEN,
  type PreparedTarget,
  type PreparedWrite,
  STREAM_MOVED,
  type Submit,
} from "./prepared_write.ts";
import { TextMap } from "../../domain/lookup/text_map.ts";

/** Writes to one stream that are judged before the first of them is written. */
const GROUP_MAX = 200;
/** The characters of states that a group holds before it is written, and of the last one more. */
const GROUP_CHARACTERS_MAX = 2 * 1024 * 1024;
/** The same for all groups that are judged at a time; an environment holds a part of it. */
const JUDGED_CHARACTERS_MAX = 64 * 1024 * 1024;
/** What a group counts for before its like has been judged. */
const GUESSED_CHARACTERS = 2 * 1024 * 1024;
/** How many kinds of groups are remembered with what they held. */
const HELD_MAX = 1_000;
/** Attempts to judge a write while another node keeps writing to its stream. */
const TRIES_MAX = 20;
const RETRY_AFTER_MS = 1_000;

interface Waiting {
  readonly write: PreparedWrite;
  readonly resolve: (outcome: Outcome<Written>) => void;
  readonly reject: (error: unknown) => void;
  tries: number;
}

/** Submits writes with events that modules judge; `submit` gets what they have accepted. */
export function createJudge(parts: SceneParts, submit: Submit): Submit {
  const lanes = new TextMap<Waiting[]>();
  const turns = openStreamTurns();
  const room = openWaitingRoom(JUDGED_CHARACTERS_MAX);
  /** What the last group of a kind has held. */
  const held = createRecentTexts<number>(HELD_MAX);

  function judge(tenant: number, write: PreparedWrite): Promise<Outcome<Written>> {
    return new Promise((resolve, reject) => {
      const waiting: Waiting = { write, resolve, reject, tries: 0 };
      if (write.targets.length > 1) void runAlone(tenant, waiting);
      else enqueue(tenant, waiting);
    });
  }

  function enqueue(tenant: number, waiting: Waiting): void {
    const name = nameOf(tenant, waiting.write.targets[0]!);
    const lane = lanes.get(name);
    if (lane !== undefined) return void lane.push(waiting);
    const opened = [waiting];
    lanes.set(name, opened);
    void runLane(tenant, name, opened);
  }

  async function runLane(tenant: number, name: string, lane: Waiting[]): Promise<void> {
    // Writes of the same turn join this one.
    await Promise.resolve();
    while (lane.length > 0) {
      await turns.take([name], async () => {
        const group = takeGroup(lane);
        lane.unshift(...await settle(tenant, group));
      });
    }
    lanes.delete(name);
  }

  async function runAlone(tenant: number, waiting: Waiting): Promise<void> {
    const names = waiting.write.targets.map((target) => nameOf(tenant, target));
    await turns.take(names, async () => {
      for (let left = [waiting]; left.length > 0;) left = await settle(tenant, left);
    });
  }

  /** Returns the writes that have to be judged yet, or again. Never throws. */
  async function settle(tenant: number, group: readonly Waiting[]): Promise<Waiting[]> {
    const kinds = kindsOf(tenant, group[0]!.write);
    let count = 0;
    for (const kind of kinds) count += held.get(kind) ?? GUESSED_CHARACTERS;
    const leave = kinds.length === 0 ? undefined : await room.enter(tenant, count);
    const scene = openScene(parts, tenant);
    try {
      return await settleIn(scene, tenant, group);
    } finally {
      leave?.();
      const each = Math.ceil(scene.characters() / Math.max(1, kinds.length));
      // Forgotten little by little: others of the kind may hold more than this one.
      for (const kind of kinds) {
        held.set(kind, Math.max(each, Math.ceil((held.get(kind) ?? 0) / 2)));
      }
    }
  }

  async function settleIn(
    scene: Scene,
    tenant: number,
    group: readonly Waiting[],
  ): Promise<Waiting[]> {
    const verdicts: Verdict[] = [];
    for (const { write } of group) {
      if (verdicts.length > 0 && scene.characters() > GROUP_CHARACTERS_MAX) break;
      verdicts.push(await scene.judge(write));
    }
    const results = await Promise.allSettled(
      verdicts.map((verdict) => submitJudged(tenant, verdict)),
    );
    const again: Waiting[] = [];
    // A verdict that follows a write that was not written after all is void.
    let isTrue = true;
    for (const [index, verdict] of verdicts.entries()) {
      const waiting = group[index]!;
      const result = results[index]!;
      const isOwn = verdict.kind === "refused" || verdict.kind === "thrown";
      if (isOwn && !isTrue) again.push(waiting);
      else if (result.status === "rejected") waiting.reject(result.reason);
      else if (result.value.ok && result.value.value === STREAM_MOVED) again.push(waiting);
      else waiting.resolve(result.value);
      if (verdict.kind !== "taken") continue;
      if (hasLanded(result)) scene.keep(verdict);
      else isTrue = false;
    }
    return [...again.filter(mayTryAgain), ...group.slice(verdicts.length)];
  }

  async function submitJudged(tenant: number, verdict: Verdict): Promise<Outcome<Written>> {
    if (verdict.kind === "thrown") throw verdict.error;
    return verdict.kind === "refused" ? verdict : await submit(tenant, verdict.write);
  }

  return judge;
}

function nameOf(tenant: number, { key }: PreparedTarget): string {
  return `${tenant}/${key}`;
}

/** Takes waiting writes from the front while they are of one kind, at most `GROUP_MAX`. */
function takeGroup(lane: Waiting[]): Waiting[] {
  const kind = kindOf(lane[0]!.write);
  const end = lane.findIndex(({ write }, index) => index === GROUP_MAX || kindOf(write) !== kind);
  return lane.splice(0, end < 0 ? lane.length : end);
}

/** Writes that no module judges are of one kind, and so are writes judged by the same modules. */
function kindOf(write: PreparedWrite): string {
  return needsVerdict(write) ? write.targets[0]!.judgedAs!.foldHash : "";
}

/** The types whose modules judge the write, one for each of those targets. */
function kindsOf(tenant: number, write: PreparedWrite): string[] {
  if (!needsVerdict(write)) return [];
  return write.targets.filter(({ judgedAs }) => judgedAs !== undefined)
    .map(({ judgedAs }) => `${tenant}/${judgedAs!.foldHash}`);
}

function hasLanded(result: PromiseSettledResult<Outcome<Written>>): boolean {
  if (result.status === "rejected" || !result.value.ok) return false;
  const written = result.value.value;
  return written !== STREAM_MOVED && written !== NOTHING_WRITTEN && !written.replayed;
}

/** Refuses a write that was judged in vain too often. */
function mayTryAgain(waiting: Waiting): boolean {
  if (++waiting.tries < TRIES_MAX) return true;
  const message = "Others write to this aggregate faster than its handlers can judge";
  waiting.resolve(refuse({ kind: "modules_unavailable", message, retryAfterMs: RETRY_AFTER_MS }));
  return false;
}

/** Serializes work on streams within this process. */
interface StreamTurns {
  /** Runs `body` while nobody else has a turn on any of these names. */
  take(names: readonly string[], body: () => Promise<void>): Promise<void>;
}

export function openStreamTurns(): StreamTurns {
  /** By name: the end of the last turn that was requested. */
  const ends = new TextMap<Promise<void>>();

  async function take(names: readonly string[], body: () => Promise<void>): Promise<void> {
    // All are requested at once, so two turns that want the same names cannot deadlock.
    const before = names.map((name) => ends.get(name));
    const { promise: end, resolve } = Promise.withResolvers<void>();
    for (const name of names) ends.set(name, end);
    try {
      await Promise.all(before);
      await body();
    } finally {
      for (const name of names) if (ends.get(name) === end) ends.delete(name);
      resolve();
    }
  }

  return { take };
}
