/**
 * What the client does on every runtime: one suite for Deno, Node, Bun and browsers. It uses
 * nothing but the package and what the web has; who runs it passes the server and the samples.
 */

import { createAdmin } from "@daybook/client/admin";
import { type ClientOptions, createClient, DaybookError } from "@daybook/client";
import { verifyBundle, verifyReceipt } from "@daybook/client/verify";
import { verifyWebhook } from "@daybook/client/webhooks";

/** What the runner knows; it is passed as JSON. */
export interface SuiteInput {
  readonly url: string;
  readonly key: string;
  readonly readKey: string;
  readonly token: string;
  /** An address at which nobody listens. */
  readonly nowhere: string;
  /** Tells runs beside one server apart: one digit or letter. */
  readonly run: string;
  readonly webhook: {
    readonly secret: string;
    readonly body: string;
    readonly headers: Readonly<Record<string, string>>;
    readonly nowMs: number;
  };
  readonly publicKey: string;
  readonly bundles: readonly {
    readonly name: string;
    readonly step: string;
    readonly bundle: unknown;
  }[];
  readonly receipt: unknown;
}

export interface SuiteResult {
  readonly passed: readonly string[];
  readonly failed: readonly string[];
}

interface Shop {
  readonly aggregates: {
    readonly order: {
      readonly state: {
        readonly customer?: string;
        readonly paid?: number;
        readonly notes?: string[];
      };
      readonly events: {
        readonly was_placed: { readonly customer: string };
        readonly was_paid: { readonly amount: number };
        readonly was_noted: { readonly text: string };
      };
    };
  };
  readonly actors: "user";
  readonly targets: never;
}

type Case = (input: SuiteInput) => Promise<void>;

const ACTOR = { type: "user", id: "global" } as const;

function clientOf({ url, key }: SuiteInput, more: Partial<ClientOptions<Shop>> = {}) {
  return createClient<Shop>({ url, key, actor: ACTOR, ...more });
}

/** An id of nine characters that no other run and no other case has. */
function idOf({ run }: SuiteInput, number: number): string {
  return `P0RTAB${run}${String(number).padStart(2, "0")}`;
}

function equal(actual: unknown, expected: unknown, what = "value"): void {
  const [left, right] = [JSON.stringify(actual), JSON.stringify(expected)];
  if (left !== right) throw new Error(`${what}: ${left}, expected was ${right}`);
}

const CASES: Readonly<Record<string, Case>> = {
  async "an event is written and its state is read"(input) {
    const order = clientOf(input).order(idOf(input, 1));
    equal((await order.length().orThrow()).length, 0);
    equal((await order.was_placed({ customer: "Ädä ☃ 😀" }).orThrow()).stream_id, "000000000000");
    const { data, metadata } = await order.get().orThrow();
    equal([data.customer, metadata.length], ["Ädä ☃ 😀", 1]);
  },

  async "a batch is written whole, and its events are listed page by page"(input) {
    const order = clientOf(input).order(idOf(input, 2));
    const events = Array.from({ length: 25 }, (_, at) => ({
      type: "was_noted",
      data: { text: `note ${at}` },
    } as const));
    equal((await order.batch(events).orThrow()).count, 25);
    const texts: string[] = [];
    for await (const { event } of order.events({ count: 10 })) {
      if (event.type === "was_noted") texts.push(event.data.text);
    }
    equal(texts, events.map(({ data }) => data.text));
  },

  async "a refusal has its type, its path and what to do; orThrow() throws it"(input) {
    const db = clientOf(input);
    const refused = await db.order(idOf(input, 3)).was_placed({ customer: 5 as never });
    if (refused.ok) throw new Error("it was accepted");
    equal([refused.error_type, refused.path], ["schema_validation", "data.customer"]);
    try {
      await db.order(idOf(input, 3)).get().orThrow();
    } catch (error) {
      if (!(error instanceof DaybookError)) throw error;
      return equal(error.refusal.error_type, "not_found");
    }
    throw new Error("nothing was thrown");
  },

  async "a wrong key, a key without the scope, and no server each say what to do"(input) {
    const { url, readKey, nowhere } = input;
    const id = idOf(input, 4);
    const clients = [
      [{ url, key: "dbk_0_test_wrong" }, "unauthorized"],
      [{ url, key: readKey }, "forbidden"],
      [{ url: nowhere, retries: 0 }, "unreachable"],
    ] as const;
    for (const [options, type] of clients) {
      const answer = await clientOf(input, options).order(id).was_placed({ customer: "Ada" });
      equal(answer.ok || answer.error_type, type);
      if (answer.ok || !answer.hint) throw new Error(`${type} has no hint`);
    }
  },

  async "writers at once: update() decides again, and each effect is there once"(input) {
    const db = clientOf(input);
    const id = idOf(input, 5);
    await Promise.all(
      Array.from({ length: 8 }, (_, at) =>
        db.order(id).update(({ notes = [] }) => ({
          type: "was_noted",
          data: { text: `${at}: ${notes.length} before` },
        })).orThrow()),
    );
    const { notes = [] } = (await db.order(id).get().orThrow()).data;
    equal(notes.map((text) => text.split(": ")[1]), notes.map((_, at) => `${at} before`));
    equal(notes.length, 8);
  },

  async "an answer that is lost is asked for again under the same key, and stored once"(input) {
    let losses = 2;
    const lossy = async (url: string, init: RequestInit) => {
      const answer = await fetch(url, init);
      if (init.method !== "POST" || losses-- <= 0) return answer;
      await answer.arrayBuffer();
      throw new TypeError("the connection broke");
    };
    const order = clientOf(input, { fetch: lossy }).order(idOf(input, 6));
    await order.was_noted({ text: "once" }).orThrow();
    equal((await order.length().orThrow()).length, 1);
  },

  async "an atomic write is all or nothing"(input) {
    const db = clientOf(input);
    const [one, other] = [db.order(idOf(input, 7)), db.order(idOf(input, 8))];
    const events = [one.was_placed.event({ customer: "Ada" }), other.was_paid.event({ amount: 5 })];
    equal((await db.$atomic(events).orThrow()).written, 2);
    const wrong = [one.was_noted.event({ text: "x" }), other.was_paid.event({ amount: -1 })];
    equal((await db.$atomic(wrong)).ok, false);
    equal([(await one.length().orThrow()).length, (await other.length().orThrow()).length], [1, 1]);
  },

  async "a signal ends a call, and a timeout too"(input) {
    const hanging = (_url: string, { signal }: RequestInit) =>
      new Promise<Response>((_, reject) =>
        signal!.addEventListener("abort", () => reject(signal!.reason))
      );
    const db = clientOf(input, { fetch: hanging, retries: 0 });
    const controller = new AbortController();
    const call = db.order(idOf(input, 9)).get({ signal: controller.signal });
    controller.abort();
    const aborted = await call;
    equal(aborted.ok || aborted.error_type, "aborted");
    const late = await db.order(idOf(input, 9)).get({ timeoutMs: 20 });
    equal(late.ok || late.error_type, "timed_out");
  },

  async "the feed is followed live, from a cursor on"(input) {
    const db = clientOf(input);
    const id = idOf(input, 10);
    const { next: from } = await db.$feedPage({ from: "now" }).orThrow();
    const texts: string[] = [];
    const writing = (async () => {
      for (const text of ["a", "b", "c"]) await db.order(id).was_noted({ text }).orThrow();
    })();
    for await (const { event } of db.$feed({ from, types: ["order.was_noted"] })) {
      if (event.key === `order:${id}` && event.type === "was_noted") texts.push(event.data.text);
      if (texts.length === 3) break;
    }
    await writing;
    equal(texts, ["a", "b", "c"]);
  },

  async "a state is followed live until the reader leaves"(input) {
    const order = clientOf(input).order(idOf(input, 11));
    await order.was_placed({ customer: "Ada" }).orThrow();
    const seen: unknown[] = [];
    for await (const { data } of order.live()) {
      seen.push(data.paid ?? 0);
      if (seen.length === 1) await order.was_paid({ amount: 5 }).orThrow();
      else break;
    }
    equal(seen, [0, 5]);
  },

  async "aggregates are listed with their states"(input) {
    const db = clientOf(input);
    await db.order(idOf(input, 12)).was_placed({ customer: "Bob" }).orThrow();
    const found: unknown[] = [];
    for await (const one of db.order.list({ prefix: idOf(input, 12), resolve: true })) {
      found.push([one.id, one.data?.customer]);
    }
    equal(found, [[idOf(input, 12), "Bob"]]);
  },

  async "an operator deploys and lists"({ url, token }) {
    const admin = createAdmin({ url, token });
    const { spec, version } = await admin.specs.current().orThrow();
    const dry = await admin.deploy(spec, { dry_run: true }).orThrow();
    equal(dry.changes, []);
    let versions = 0;
    for await (const _ of admin.specs.list()) versions++;
    equal(versions, version);
    const refused = await admin.deploy({ ...spec, agent_types: [] }, { dry_run: true });
    equal(refused.ok || refused.error_type, "spec_invalid");
  },

  async "a delivery verifies, and a changed one does not"({ webhook }) {
    const { secret, body, headers, nowMs } = webhook;
    const options = { secret, now: () => nowMs };
    const request = new Request("https://a.example/hook", { method: "POST", body, headers });
    const right = await verifyWebhook(request, options);
    equal(right.ok && right.delivery, JSON.parse(body));
    const simple = await verifyWebhook(body, headers, { ...options, scheme: "body" });
    equal(simple.ok, true);
    const wrong = await verifyWebhook(`${body} `, headers, options);
    equal(wrong.ok || wrong.reason, "signature_mismatch");
    const late = await verifyWebhook(body, headers, { secret, now: () => nowMs + 1e6 });
    equal(late.ok || late.reason, "timestamp_too_old");
  },

  // deno-lint-ignore require-await -- every case is a promise
  async "bundles and receipts have the verdicts of Python and OpenSSL"(input) {
    const { bundles, publicKey, receipt } = input;
    for (const { name, step, bundle } of bundles) {
      const verdict = verifyBundle(JSON.stringify(bundle), { publicKey });
      equal(verdict.ok ? "ok" : verdict.step, step, name);
    }
    equal(verifyReceipt(receipt, { publicKey }).ok, true);
    const other = { ...receipt as object, reason: "another" };
    equal(verifyReceipt(other, { publicKey }).ok, false);
  },
};

const CASE_MS_MAX = 20_000;

/** Runs every case, one after the other; none of them ends the suite. */
export async function runSuite(input: SuiteInput): Promise<SuiteResult> {
  const [passed, failed]: [string[], string[]] = [[], []];
  for (const [name, run] of Object.entries(CASES)) {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error("it takes too long")), CASE_MS_MAX);
    });
    try {
      await Promise.race([run(input), late]);
      passed.push(name);
    } catch (error) {
      failed.push(`${name}: ${error instanceof Error ? error.stack ?? error.message : error}`);
    } finally {
      clearTimeout(timer);
    }
  }
  return { passed, failed };
}
