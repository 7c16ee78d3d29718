/** Tables of requests with their exact documented answers, one test for each row. */

import assert from "node:assert/strict";
import { type SendOptions, withWorld, type World, type WorldOptions } from "./world.ts";

export interface Step extends SendOptions {
  /**
   * Method and path, e.g. `GET /note/global/length`; `{instance}` stands for the instance's id.
   */
  readonly call: string;
}

export interface Case extends Step {
  readonly name: string;
  /** Sent first; each must succeed. */
  readonly after?: readonly Step[];
  readonly status: number;
  /** null means that it must be absent. */
  readonly headers_out?: Readonly<Record<string, string | null>>;
  /** Exact, with fields in this order; a RegExp is matched against the whole text. */
  readonly answer?: unknown;
  readonly world?: WorldOptions;
}

/** Registers one test for each case; their names begin with `subject`. */
export function testCases(subject: string, cases: readonly Case[]): void {
  for (const row of cases) {
    Deno.test(`${subject}: ${row.name}`, () =>
      withWorld((world) => checkCase(world, row), row.world ?? {}));
  }
}

/** Sends one step in `world`. */
export function sendStep(world: World, step: Step) {
  const [method = "", path = ""] = step.call.split(" ", 2);
  return world.send(method, path.replace("{instance}", world.instanceId), step);
}

async function checkCase(world: World, row: Case): Promise<void> {
  for (const step of row.after ?? []) {
    const { status, text } = await sendStep(world, step);
    assert.ok(status < 300, `${step.call} before the case: ${status} ${text}`);
  }
  const answer = await sendStep(world, row);
  assert.equal(answer.status, row.status, answer.text);
  for (const [name, value] of Object.entries(row.headers_out ?? {})) {
    assert.equal(answer.headers.get(name), value, name);
  }
  if (row.answer instanceof RegExp) assert.match(answer.text, row.answer);
  else if (row.answer !== undefined) assert.equal(answer.text, JSON.stringify(row.answer));
}

/** The documented body of a refusal: `{ok: false, error, error_type, ..., docs}`. */
export function refusal(errorType: string, error: string, more: object = {}) {
  return { ok: false, error, error_type: errorType, ...more, docs: `/_docs/errors/${errorType}` };
}
