/** What a rebuild folds in processes stays bytes, and is what a read would have as text. */

import assert from "node:assert/strict";
import { systemHost } from "../../../src/host.ts";
import { streamKey } from "../../../src/domain/identifier.ts";
import { compileSpec } from "../../../src/domain/spec/compile.ts";
import {
  foldInSteps,
  type FoldStep,
  type FoldWork,
} from "../../../src/features/states/fold_stream.ts";
import { openCompute } from "../../../src/features/states/run_compute.ts";
import { readHead } from "../../../src/store/streams/streams.ts";
import { copyOfExampleSpec } from "../../support/example_spec.ts";
import { noModules } from "../../support/no_modules.ts";
import { orderWrite, uuid, valueOf, withService } from "../../support/service_fixture.ts";

function filledSpec() {
  const spec = copyOfExampleSpec();
  const handler = { merge: { target: "", value: "$.data" } };
  // deno-lint-ignore no-explicit-any
  (spec.aggregate_types as any).order.events.was_filled = { schema: true, handler };
  return spec;
}

Deno.test("a rebuild goes on from bytes or from a text, and gives the same state", async () => {
  const spec = filledSpec();
  await withService(async ({ service: { data: calls }, engine, tenants: { test } }) => {
    for (let n = 0; n < 24; n++) {
      const data = { [`text${n}`]: `aé€😀"\n`.repeat(7_000) };
      valueOf(await calls.writeEvents(test, orderWrite(uuid(1), [{ type: "was_filled", data }])));
    }
    const compiled = compileSpec(spec);
    assert.ok(compiled.ok);
    const type = compiled.spec.aggregateTypes.get("order")!;
    const stream = streamKey("order", uuid(1));
    const head = await engine.snapshot((tx) => readHead(tx, test.number, stream));
    const host = systemHost();
    const compute = openCompute(engine, host, { runners: 1 });
    const tools = { engine, host, modules: noModules, compute };
    async function foldAll(base: FoldWork["base"], purpose: "read" | "rebuild") {
      const steps: FoldStep[] = [];
      const work = { tenant: test.number, stream, type, head, base };
      for await (const step of foldInSteps(tools, work, { purpose, stepBytes: 600_000 })) {
        steps.push(valueOf(step));
      }
      return steps;
    }
    try {
      const read = await foldAll(undefined, "read");
      const rebuilt = await foldAll(undefined, "rebuild");
      assert.ok(read.length > 2);
      assert.equal(rebuilt.length, read.length);
      for (const [at, step] of rebuilt.entries()) {
        const { length, bytes, stateUtf8 } = step;
        const stateJson = valueOf(read[at]!.stateJson());
        assert.equal(new TextDecoder().decode(stateUtf8), stateJson);
        assert.equal(valueOf(step.stateJson()), stateJson);
        if (at !== 1) continue;
        const position = { length, bytes, generation: head.generation };
        const ends = [
          await foldAll({ ...position, stateJson }, "rebuild"),
          await foldAll({ ...position, stateUtf8: stateUtf8! }, "rebuild"),
          await foldAll({ ...position, stateUtf8: stateUtf8! }, "read"),
        ];
        const texts = new Set(ends.map((steps) => valueOf(steps.at(-1)!.stateJson())));
        assert.deepEqual([...texts], [valueOf(read.at(-1)!.stateJson())]);
      }
    } finally {
      await compute.close();
    }
  }, { spec });
});
