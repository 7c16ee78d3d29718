/**
 * What an attack is: a row of data. It says what the attacker needs, what is put in place before,
 * which requests are sent and how, and for how long. `run_attack.ts` carries a row out.
 */

import type { ProbeName } from "./probes.ts";

// deno-lint-ignore no-explicit-any -- documents of the product as people write them
export type Json = any;

/**
 * Whose credential a request carries. All of them are of the attacker's own instance. With
 * `staging`, a write key, the request goes to the attacker's staging environment.
 */
export type Credential = "write" | "read" | "operator" | "nobody" | "staging";

export interface HostileRequest {
  /** Default: GET, or POST where there is a body. */
  readonly method?: string;
  /** `{instance}` stands for the id of the attacker's instance. */
  readonly path: string;
  readonly body?: string | Uint8Array<ArrayBuffer>;
  /** Default: `application/json` where there is a body. */
  readonly contentType?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Default: `write`. */
  readonly as?: Credential;
  /** The client address that the proxy in front tells of. Default: one for all attackers. */
  readonly address?: string;
}

/**
 * How a request is sent:
 * - `ask`: wholly, and its answer is read to the end;
 * - `never_read`: wholly, and nothing of the answer is ever read;
 * - `never_finish`: all but the last bytes of the body, then nothing;
 * - `drip`: the body byte by byte, with a pause after each;
 * - `drip_head`: the head byte by byte;
 * - `drip_chunks`: in chunks of one byte each;
 * - `half_close`: wholly, then this side of the connection is closed, and the answer is read;
 * - `hang_up`: wholly, then the connection is closed after the pause, answered or not.
 */
export type Manner =
  | "ask"
  | "never_read"
  | "never_finish"
  | "drip"
  | "drip_head"
  | "drip_chunks"
  | "half_close"
  | "hang_up";

/** Clients that do the same. */
export interface Wave {
  /** Asked for each time; `turn` counts the requests of all clients of the wave, from 0. */
  readonly request: HostileRequest | ((turn: number) => HostileRequest);
  /** Default: `ask`. */
  readonly manner?: Manner;
  /** Default: 4. */
  readonly clients?: number;
  /** What each client sends. Default: as many as it can until the time is over. */
  readonly times?: number;
  /** After each request of a client, or each piece of one that drips. */
  readonly pauseMs?: number;
  /** The same request so often on one connection, before any answer is read. */
  readonly pipelined?: number;
}

/** A step of the preparation must be answered with 2xx, or be waited for. */
export type Step =
  | HostileRequest
  | {
    readonly waitFor: HostileRequest;
    /** What the answer must hold; the time for it is a minute. */
    readonly holds: string;
  };

export interface Attack {
  /** Short, in lower case; `--only` names it. */
  readonly name: string;
  /** What happens, in one sentence. */
  readonly does: string;
  /** What the attacker must have. */
  readonly needs: string;
  /** Deployed to the attacker's instance, in the test environment. */
  readonly spec?: () => Json;
  readonly prepare?: () => Iterable<Step> | AsyncIterable<Step>;
  readonly waves: readonly Wave[];
  /** Default: that of the command line. */
  readonly seconds?: number;
  /** What of the neighbour is measured beside its reads, its writes and `/health/live`. */
  readonly watch?: readonly ProbeName[];
  /** Settings of the server, as environment variables. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Statuses that the attacker may hear. Default: every one but 500. */
  readonly mayHear?: readonly number[];
}

export interface AttackGroup {
  readonly title: string;
  readonly attacks: readonly Attack[];
}
