/** The feed over real listeners, with a service on its own store; and readers of its frames. */

import assert from "node:assert/strict";
import type { JsonObject } from "../../../src/domain/json.ts";
import { systemHost } from "../../../src/host.ts";
import { type RunningServer, startServer } from "../../../src/http/serve.ts";
import { anyOperator, makeKey } from "../../support/access_fixtures.ts";
import {
  noteWrite,
  type ServiceFixture,
  uuid,
  valueOf,
  withService,
} from "../../support/service_fixture.ts";

export interface FeedServer extends ServiceFixture {
  readonly server: RunningServer;
  readonly url: string;
  /** A read key of the test environment. */
  readonly key: string;
  /** Writes an event for each text, to the order whose number is the text's length. */
  note(...texts: string[]): Promise<void>;
  /** `GET /_feed` with this query. */
  get(query: string, change?: FeedCall): Promise<Response>;
  /** `GET` of any path. */
  read(path: string, change?: FeedCall): Promise<Response>;
  revoke(keyId: string): Promise<void>;
}

export interface FeedCall {
  /** Undefined: the read key. null: none. */
  readonly key?: string | null;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

const STOP_MS = 5_000;

export async function withFeedServer(body: (world: FeedServer) => Promise<void>): Promise<void> {
  const realHost = { ...systemHost(), log: () => {} };
  await withService(async (fixture) => {
    const { service, access, engine, host, tenants: { test } } = fixture;
    const server = await startServer(service, host, {
      headerPrefix: "SVC",
      hostname: "127.0.0.1",
      port: 0,
      clientAddress: (peer) => peer,
    });
    const { url } = server.addresses[2]!;
    const { key } = await makeKey(engine, host, test, "read");
    function read(path: string, { key: own = key, headers, signal }: FeedCall = {}) {
      const all = new Headers(headers);
      if (own !== null) all.set("authorization", `Bearer ${own}`);
      return fetch(`${url}${path}`, { headers: all, signal });
    }
    try {
      await body({
        ...fixture,
        server,
        url,
        key,
        async note(...texts) {
          for (const text of texts) {
            valueOf(await service.data.writeEvents(test, noteWrite(uuid(text.length), text)));
          }
        },
        get: (query, change) => read(`/_feed${query}`, change),
        read,
        async revoke(keyId) {
          valueOf(await access.revokeApiKey(anyOperator, keyId));
        },
      });
    } finally {
      await server.stop(STOP_MS);
    }
    assert.equal(service.feed.countFollowers(), 0, "nobody follows any more");
  }, { realHost });
}

/** A frame or a line of a live answer. */
export interface Frame {
  /** `event`, `erased`, `caught_up`, `refused` or `heartbeat`. */
  readonly type: string;
  readonly id?: string;
  // deno-lint-ignore no-explicit-any -- a test says what it expects of the data
  readonly data?: any;
}

export interface FrameReader {
  /** The next frame; undefined at the end of the answer. */
  next(): Promise<Frame | undefined>;
  /** So many frames. */
  take(count: number): Promise<Frame[]>;
  /** All frames up to the end. */
  rest(): Promise<Frame[]>;
  cancel(): Promise<void>;
}

const WAIT_MS = 15_000;

/** Reads `text/event-stream`, or lines of JSON. */
export function readFrames(response: Response): FrameReader {
  const isSse = response.headers.get("content-type") === "text/event-stream";
  const end = isSse ? "\n\n" : "\n";
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";

  async function next(): Promise<Frame | undefined> {
    for (;;) {
      const at = text.indexOf(end);
      if (at !== -1) {
        const frame = text.slice(0, at);
        text = text.slice(at + end.length);
        return isSse ? sseFrame(frame) : lineFrame(frame);
      }
      const { done, value } = await inTime(reader.read());
      if (done) {
        assert.equal(text, "", "an answer ends behind a whole frame");
        return undefined;
      }
      text += value;
    }
  }

  return {
    next,
    async take(count) {
      const frames: Frame[] = [];
      while (frames.length < count) {
        const frame = await next();
        assert.ok(frame !== undefined, `the answer ended after ${JSON.stringify(frames)}`);
        frames.push(frame);
      }
      return frames;
    },
    async rest() {
      const frames: Frame[] = [];
      for (let frame = await next(); frame !== undefined; frame = await next()) frames.push(frame);
      return frames;
    },
    cancel: () => reader.cancel(),
  };
}

/** A frame of server-sent events, without the empty line behind it. */
export function sseFrame(text: string): Frame {
  if (text.startsWith(":")) return { type: "heartbeat" };
  const fields = new Map(
    text.split("\n").map((line) => {
      const at = line.indexOf(": ");
      return [line.slice(0, at), line.slice(at + 2)];
    }),
  );
  const id = fields.get("id");
  const data = JSON.parse(fields.get("data")!);
  return { type: fields.get("event")!, ...(id !== undefined && { id }), data };
}

function lineFrame(text: string): Frame {
  const { type, ...data } = JSON.parse(text) as JsonObject & { type: string };
  return type === "heartbeat" ? { type } : { type, data };
}

async function inTime<T>(promise: Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error("nothing came in time")), WAIT_MS);
  try {
    return await Promise.race([promise, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}
