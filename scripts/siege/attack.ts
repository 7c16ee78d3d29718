/**
 * The form of an attack, which is a row of data. It says what the attacker needs, how the
 * attack is prepared, which requests are sent and how, and for how long. `run_attack.ts`
 * carries it out.
 */

import type { ProbeName } from "./probes.ts";

// deno-lint-ignore no-explicit-any -- documents of the product as people write them
export type Json = any;

/**
 * Whose credential a request carries. All belong to the attacker's own instance. With
 * `staging`, a write key, the request goes to the attacker's staging environment.
 */
export type Credential = "write" | "read" | "operator" | "nobody" | "staging";

export interface HostileRequest {
  /** Default: GET, or POST if there is a body. */
  readonly method?: string;
  /** `{instance}` stands for the id of the attacker's instance. */
  readonly path: string;
  readonly body?: string | Uint8Array<ArrayBuffer>;
  /** Default: `application/json` if there is a body. */
  readonly contentType?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Default: `write`. */
  readonly as?: Credential;
  /** The client address that the proxy in front reports. Default: one for all attackers. */
  readonly address?: string;
}

/**
 * How a request is sent:
 * - `ask`: completely, and its answer is read to the end;
 * - `never_read`: completely, and nothing of the answer is ever read;
 * - `never_finish`: all but the last bytes of the body, then nothing;
 * - `drip`: the body byte by byte, with a pause after each;
 * - `drip_head`: the head byte by byte;
 * - `drip_chunks`: in chunks of one byte each;
 * - `half_close`: completely, then this side of the connection is closed, and the answer is read;
 * - `hang_up`: completely, then the connection is closed after the pause, answered or not.
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

/** Clients that all do the same. */
export interface Wave {
  /** Computed for each request; `turn` counts the requests of all clients of the wave, from 0. */
  readonly request: HostileRequest | ((turn: number) => HostileRequest);
  /** Default: `ask`. */
  readonly manner?: Manner;
  /** Default: 4. */
  readonly clients?: number;
  /** Requests of each client. Default: as many as it can send until the time is over. */
  readonly times?: number;
  /** The pause after each request of a client, or after each piece of a dripping one. */
  readonly pauseMs?: number;
  /** How often the same request is sent on one connection before any answer is read. */
  readonly pipelined?: number;
}

/** A step of the preparation. It must be answered with 2xx, or its condition is waited for. */
export type Step =
  | HostileRequest
  | {
    readonly waitFor: HostileRequest;
    /** What the answer must contain within a minute. */
    readonly holds: string;
  };

export interface Attack {
  /** Short, in lower case; `--only` selects by it. */
  readonly name: string;
  /** What happens, in one sentence. */
  readonly does: string;
  /** What the attacker must have. */
  readonly needs: string;
  /** Deployed to the attacker's instance, in the test environment. */
  readonly spec?: () => Json;
  readonly prepare?: () => Iterable<Step> | AsyncIterable<Step>;
  readonly waves: readonly Wave[];
  /** Default: the value of the command line. */
  readonly seconds?: number;
  /** What is measured of the neighbour besides its reads, its writes and `/health/live`. */
  readonly watch?: readonly ProbeName[];
  /** Settings of the server, as environment variables. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Statuses that the attacker may get. Default: every one but 500. */
  readonly mayHear?: readonly number[];
}

export interface AttackGroup {
  readonly title: string;
  readonly attacks: readonly Attack[];
}
