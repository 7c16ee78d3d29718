/**
 * The neighbour: a separate process, so that a stall of the attackers' process does not count.
 *
 * It takes commands as JSON lines (`aim`, `begin`, `end`) and answers each `end` with what it
 * has seen. Its loops are open: a request is due at its time, and its latency counts from then.
 */

import { type HttpConnection, openConnection } from "../bench/http_connection.ts";
import {
  type Aim,
  NEIGHBOUR,
  neighbourId,
  type Observation,
  PROBE_PACES,
  type ProbeName,
  type ProbeSummary,
} from "./probes.ts";

/**
 * A request not answered this long after the end of a window is given up, and counts as that
 * late.
 */
const PATIENCE_MS = 30_000;
const TICK_MS = 5;

interface Sample {
  readonly dueMs: number;
  milliseconds?: number;
  answer?: string;
}

interface Window {
  readonly startedMs: number;
  endsMs: number;
  readonly samples: Map<ProbeName, Sample[]>;
  /** The number of the next request of each probe. */
  readonly next: Map<ProbeName, { number: number }>;
  readonly loops: Promise<void>[];
  ownDelayMs: number;
}

/** When each delivery to the neighbour's listener arrived, by the number in its event. */
const heard = new Map<number, number>();
const encoder = new TextEncoder();

function request(aim: Aim, probe: ProbeName, number: number): Uint8Array {
  const id = neighbourId(number);
  const actor = { type: "user", id: "global" };
  const write = (data: unknown) => JSON.stringify({ data, metadata: { actor } });
  switch (probe) {
    case "read":
      return message(aim, { method: "GET", path: `/shop/${id}` });
    case "write":
      return message(aim, {
        method: "POST",
        path: `/shop/${id}/was_sold`,
        body: write({ n: number }),
      });
    case "health":
      return message(aim, { method: "GET", path: "/health/live" });
    case "query":
      return message(
        aim,
        {
          method: "POST",
          path: "/_projections/query",
          body: JSON.stringify({ sql: "select count(*) as n from shops", params: [] }),
        },
      );
    case "import": {
      const path = `/_admin/import_jsonl?environment=test&instance_id=${aim.instance}`;
      const metadata = { actor, timestamp: 1_000_000_000 };
      const event = { key: `shop:${id}`, type: "was_sold", data: { n: number }, metadata };
      return message(aim, {
        method: "POST",
        path,
        body: `${JSON.stringify(event)}\n`,
        type: "application/x-ndjson",
      });
    }
    case "login": {
      const { email, password } = NEIGHBOUR;
      return message(aim, {
        method: "POST",
        path: "/api/login",
        body: JSON.stringify({ email, password }),
      });
    }
    case "module":
      return message(aim, {
        method: "POST",
        path: `/machine/${id}/was_run`,
        body: write({ n: number }),
      });
    case "delivery":
      return message(aim, {
        method: "POST",
        path: `/shop/${id}/was_told`,
        body: write({ n: number }),
      });
  }
}

interface ProbeMessage {
  readonly method: string;
  readonly path: string;
  readonly body?: string;
  readonly type?: string;
}

function message(aim: Aim, { method, path, body, type = "application/json" }: ProbeMessage) {
  const token = path.startsWith("/_admin") ? aim.operatorToken : aim.key;
  const bytes = encoder.encode(body ?? "");
  const head = [
    `${method} ${path} HTTP/1.1`,
    "Host: 127.0.0.1",
    `X-Forwarded-For: ${NEIGHBOUR.address}`,
    ...(path.startsWith("/api/login") ? [] : [`Authorization: Bearer ${token}`]),
    ...(body === undefined ? [] : [`Content-Type: ${type}`, `Content-Length: ${bytes.length}`]),
  ];
  const text = encoder.encode(`${head.join("\r\n")}\r\n\r\n`);
  const whole = new Uint8Array(text.length + bytes.length);
  whole.set(text);
  whole.set(bytes, text.length);
  return whole;
}

function begin(aim: Aim): Window {
  const window: Window = {
    startedMs: performance.now(),
    endsMs: Infinity,
    samples: new Map(),
    next: new Map(),
    loops: [],
    ownDelayMs: 0,
  };
  for (const probe of aim.probes) {
    const samples: Sample[] = [];
    window.samples.set(probe, samples);
    const pace = PROBE_PACES[probe];
    const next = { number: 0 };
    window.next.set(probe, next);
    for (let i = 0; i < pace.connections; i++) {
      window.loops.push(runLoop(aim, { probe, window, samples, next }));
    }
  }
  window.loops.push(watchOwnDelay(window));
  return window;
}

interface ProbeLoop {
  readonly probe: ProbeName;
  readonly window: Window;
  readonly samples: Sample[];
  readonly next: { number: number };
}

async function runLoop(
  aim: Aim,
  { probe, window, samples, next }: ProbeLoop,
): Promise<void> {
  const { perSecond } = PROBE_PACES[probe];
  let connection: HttpConnection | undefined;
  for (;;) {
    const number = next.number++;
    const dueMs = window.startedMs + number * 1000 / perSecond;
    while (performance.now() < Math.min(dueMs, window.endsMs)) {
      await pause(Math.max(1, Math.min(dueMs - performance.now(), 50)));
    }
    if (dueMs >= window.endsMs) break;
    if (performance.now() > window.endsMs + PATIENCE_MS) {
      next.number = number;
      break;
    }
    const sample: Sample = { dueMs };
    samples.push(sample);
    const mark = Math.floor(window.startedMs) * 1000 + number;
    try {
      connection ??= await openConnection(aim.port);
      const reply = await connection.exchange(request(aim, probe, mark));
      sample.answer = String(reply.status);
      if (probe === "delivery") await untilHeard(mark, sample, dueMs);
      else sample.milliseconds = performance.now() - dueMs;
    } catch {
      connection?.close();
      connection = undefined;
      sample.answer = "no answer";
      sample.milliseconds = performance.now() - dueMs;
      await pause(20);
    }
  }
  connection?.close();
}

async function untilHeard(mark: number, sample: Sample, dueMs: number): Promise<void> {
  while (!heard.has(mark) && performance.now() < dueMs + PATIENCE_MS) await pause(10);
  const at = heard.get(mark);
  if (at === undefined) sample.answer = "never delivered";
  sample.milliseconds = (at ?? performance.now()) - dueMs;
}

async function watchOwnDelay(window: Window): Promise<void> {
  let before = performance.now();
  while (before < window.endsMs) {
    await pause(TICK_MS);
    const now = performance.now();
    window.ownDelayMs = Math.max(window.ownDelayMs, now - before - TICK_MS);
    before = now;
  }
}

async function end(window: Window): Promise<Observation> {
  window.endsMs = performance.now();
  await Promise.race([Promise.all(window.loops), pause(PATIENCE_MS)]);
  for (const [probe, samples] of window.samples) addUnsent(window, probe, samples);
  const probes = [...window.samples].map(([probe, samples]) => [probe, summarize(samples)]);
  return { probes: Object.fromEntries(probes), ownDelayMs: window.ownDelayMs };
}

/**
 * Adds the requests that were due but could not even be sent, because all connections waited
 * for an answer.
 */
function addUnsent(window: Window, probe: ProbeName, samples: Sample[]): void {
  const { perSecond } = PROBE_PACES[probe];
  for (let number = window.next.get(probe)!.number;; number++) {
    const dueMs = window.startedMs + number * 1000 / perSecond;
    if (dueMs >= window.endsMs) return;
    samples.push({ dueMs });
  }
}

function summarize(samples: readonly Sample[]): ProbeSummary {
  const failures: Record<string, number> = {};
  for (const { answer } of samples) {
    const told = answer ?? "no answer";
    if (!/^2/.test(told)) failures[told] = (failures[told] ?? 0) + 1;
  }
  const times = Float64Array.from(samples.map(timeOf)).sort();
  const at = (share: number) =>
    times[Math.min(times.length - 1, Math.ceil(times.length * share) - 1)];
  return {
    count: samples.length,
    failures,
    p50: at(0.5) ?? 0,
    p99: at(0.99) ?? 0,
    worst: times.at(-1) ?? 0,
  };
}

function timeOf({ milliseconds, dueMs }: Sample): number {
  return milliseconds ?? performance.now() - dueMs;
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

/** Starts the receiver for the neighbour's own listener, and returns its port. */
function receive(): number {
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (request) => {
    const { event } = await request.json() as { event: { data: { n: number } } };
    heard.set(event.data.n, performance.now());
    return new Response();
  });
  return server.addr.port;
}

type Command =
  | { readonly do: "aim"; readonly aim: Aim }
  | { readonly do: "begin" }
  | { readonly do: "end" };

if (import.meta.main) {
  console.log(JSON.stringify({ receiverPort: receive() }));
  let aim: Aim | undefined;
  let window: Window | undefined;
  let rest = "";
  for await (const text of Deno.stdin.readable.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + text).split("\n");
    rest = lines.pop()!;
    for (const line of lines) {
      const command = JSON.parse(line) as Command;
      if (command.do === "aim") aim = command.aim;
      else if (command.do === "begin") window = begin(aim!);
      else console.log(JSON.stringify(await end(window!)));
    }
  }
  Deno.exit(0);
}
