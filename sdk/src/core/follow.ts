/**
 * Follows a live read for as long as its consumer wants: over server-sent events, or over long
 * polls where something between here and the server holds streams back. It goes on by itself from
 * the last item that the consumer was given. Nothing is read ahead of what is asked for.
 */

import { iterate } from "./iterate.ts";
import { DaybookError, orThrow, type Refusal } from "./refusal.ts";
import { createSseReader, type Frame } from "./sse.ts";
import type { Ask, CallOptions, Query, Transport } from "./transport.ts";
import { sleep, type World } from "./world.ts";

/**
 * How a live read is followed.
 *
 * ```ts
 * import { db } from "./db.ts";
 * const patience = { live: "long-poll", silenceMs: 60_000 } as const;
 * for await (const { data } of db.order("main").live(patience)) {
 *   console.log(data);
 *   break;
 * }
 * ```
 */
export interface FollowOptions extends CallOptions {
  /** `sse` and `long-poll` use that alone. Default: `auto`, which changes over when it must. */
  readonly live?: "auto" | "sse" | "long-poll";
  /**
   * Silence for so long means that the connection is dead, or held back on the way. The server says
   * something every 15 seconds. Default: 20 seconds.
   */
  readonly silenceMs?: number;
}

/** One piece of what is followed. */
export interface Step<Item> {
  /** What the consumer is given, if anything. */
  readonly item?: Item;
  /** Where to go on from once it has it. */
  readonly place?: string;
}

/** What is followed. */
export interface Source<Item> {
  readonly path: string;
  readonly query: Query;
  /** The place to begin; undefined: the server's own beginning. */
  readonly start?: string;
  /** The parameters that begin behind a place. */
  behind(place: string | undefined): Query;
  /** What a frame means; undefined for those of other kinds. */
  read(kind: string, data: Wire): Step<Item> | undefined;
  /** What the answer of a long poll means. */
  readPage(page: Wire): readonly Step<Item>[];
  /** Only the newest item of several is wanted. */
  readonly isNewestOnly?: boolean;
}

/** JSON of the server, whose form the caller knows. */
// deno-lint-ignore no-explicit-any -- the types of the surface say what it is
export type Wire = any;

const STREAM = "text/event-stream";
const SILENCE_MS = 20_000;
/** So long it stays with long polls before it tries a stream again. */
const POLLING_MS = 300_000;
const WAIT_S = 20;
/** A connection that ends sooner is not opened again at once. */
const SHORT_MS = 1_000;
const PAUSE_MS_MAX = 10_000;
const FIRST_PAUSE_MS = 200;

export function follow<Item>(
  transport: Transport,
  source: Source<Item>,
  options: FollowOptions = {},
): AsyncIterableIterator<Item, void> {
  const { signal, live = "auto", silenceMs = SILENCE_MS, timeoutMs, retries } = options;
  const { world } = transport;

  return iterate(signal, async function* (signal) {
    let place = source.start;
    let pollUntilMs = live === "long-poll" ? Infinity : -Infinity;
    let isKnown = false;
    /** Connections in a row that said nothing at all, and those that ended soon. */
    let [mute, short] = [0, 0];

    /** Before the first answer, faults are told soon; later ones are outlasted. */
    const patience = (): CallOptions => ({ timeoutMs, retries: isKnown ? Infinity : retries });
    const queryOf = (live: string): Query => ({ ...source.query, ...source.behind(place), live });

    if (place === "now") {
      place = await cursorOfNow(transport, { path: source.path, signal, ...patience() });
      isKnown = true;
    }

    for (;;) {
      if (world.now() < pollUntilMs) {
        const query = { ...queryOf("long-poll"), wait: WAIT_S };
        const late = { timeoutMs: (timeoutMs ?? 30_000) + WAIT_S * 1000 };
        const ask = { path: source.path, query, signal, ...patience(), ...late };
        const steps = source.readPage(orThrow(await transport.send(ask)));
        isKnown = true;
        for (const { item, place: next } of steps) {
          place = next ?? place;
          if (item === undefined) continue;
          yield item;
          throwIfAborted(signal);
        }
        continue;
      }

      const ask = { path: source.path, query: queryOf("sse"), signal, ...patience() };
      const opened = await transport.open({ ...ask, accept: STREAM, timeoutMs: silenceMs });
      if (!opened.ok && opened.error_type === "timed_out" && (live === "auto" || isKnown)) {
        if (live === "auto") pollUntilMs = world.now() + POLLING_MS;
        continue;
      }
      const { body, close } = orThrow(opened);
      isKnown = true;
      const openedMs = world.now();
      let isSilent = false;
      let isAlive = false;
      try {
        const reader = body.getReader();
        const parser = createSseReader();
        for (;;) {
          const bytes = await nextBytes(world, reader, silenceMs, () => {
            isSilent = true;
            close();
          });
          throwIfAborted(signal);
          if (bytes === undefined) break;
          isAlive = true;
          const steps = parser.push(bytes).flatMap((frame) => stepOf(source, frame));
          for (const { item, place: next } of source.isNewestOnly ? steps.slice(-1) : steps) {
            place = next ?? place;
            if (item === undefined) continue;
            yield item;
            throwIfAborted(signal);
          }
        }
      } finally {
        close();
      }
      mute = isAlive ? 0 : mute + 1;
      if (live === "auto" && (isSilent || mute > 1)) pollUntilMs = world.now() + POLLING_MS;
      short = world.now() - openedMs < SHORT_MS ? short + 1 : 0;
      if (short === 0) continue;
      const spreadMs = Math.min(PAUSE_MS_MAX, FIRST_PAUSE_MS * 2 ** short);
      await sleep(world, world.random() * spreadMs, signal);
    }
  });
}

/** The cursor of this moment. Asked again later, it would be another: what came would be missed. */
async function cursorOfNow(transport: Transport, ask: Ask): Promise<string> {
  return orThrow(await transport.send<Wire>({ ...ask, query: { from: "now" } })).next;
}

/** Undefined at the end; a connection that breaks is like one that ends. */
async function nextBytes(
  world: World,
  reader: ReadableStreamDefaultReader<Uint8Array>,
  silenceMs: number,
  onSilence: () => void,
): Promise<Uint8Array | undefined> {
  const cancel = world.after(silenceMs, onSilence);
  return await reader.read().then(({ value }) => value, () => undefined).finally(cancel);
}

function stepOf<Item>(source: Source<Item>, { event, data }: Frame): Step<Item>[] {
  return [source.read(event, JSON.parse(data)) ?? []].flat();
}

function throwIfAborted(signal: AbortSignal): void {
  if (!signal.aborted) return;
  const error = "The iterator was aborted by its signal";
  const { reason: cause } = signal;
  throw new DaybookError({ ok: false, error_type: "aborted", error, status: 0, cause } as Refusal);
}
