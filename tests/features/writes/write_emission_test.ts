/**
 * Implied and scheduled events that a module's handler judges. One that fails becomes an error
 * record; its trigger stays. Events share room and time before their commit. See
 * docs/reference/reactions.md.
 */

import assert from "node:assert/strict";
import { streamKey } from "../../../src/domain/identifier.ts";
import { rootOf } from "../../../src/domain/reaction/root.ts";
import { compileSpec } from "../../../src/domain/spec/compile.ts";
import type { PreparedWrite } from "../../../src/features/writes/prepared_write.ts";
import { fakeHost } from "../../support/fake_host.ts";
import { eventsOf } from "../../support/reactive_spec.ts";
import { valueOf } from "../../support/service_fixture.ts";
import {
  type EventTypes,
  type ModuleWorld,
  seats,
  withModules,
} from "../../support/wasm/module_world.ts";
import {
  createEmitter,
  type EmissionRoom,
  openEmissionRoom,
} from "../../../src/features/writes/write_emission.ts";

const EMIT = { aggregate_type: "show", id: "a", event_type: "was_booked" };
const EVENTS: EventTypes = {
  was_wanted: { handler: [], implications: [{ emit: EMIT }] },
  was_wished: { handler: [], implications: [{ schedule: { delay: "1m", emit: EMIT } }] },
  was_booked: { wasm: "seats" },
};

async function errorsOf({ service, tenant }: ModuleWorld) {
  return valueOf(await service.data.listErrors(tenant, {})).data;
}

Deno.test("an implied event that its handler refuses is given up with a record, its trigger stays", async () => {
  await withModules({ seats: await seats() }, EVENTS, async (world) => {
    for (let wish = 0; wish < 5; wish++) valueOf(await world.write("b", ["was_wanted"]));
    await world.service.background.drainOutbox(100);
    const { service, tenant } = world;
    assert.equal((await eventsOf(service, tenant, "show", "b")).length, 5);
    assert.equal((await eventsOf(service, tenant, "show", "a")).length, 3);
    const errors = await errorsOf(world);
    assert.equal(errors.length, 2);
    for (const { error_type, message, context } of errors) {
      assert.equal(error_type, "implication_failed");
      assert.match(message, /sold_out: All seats are taken/);
      assert.deepEqual([context.implied_key, context.implied_event_type], ["show:a", "was_booked"]);
    }
    assert.equal(await service.background.drainOutbox(100), 0, "and it is not tried again");
  });
});

Deno.test("a scheduled event is judged when it fires, on the state of then", async () => {
  await withModules({ seats: await seats() }, EVENTS, async (world) => {
    const { service, host, tenant } = world;
    valueOf(await world.write("b", ["was_wished"]));
    valueOf(await world.write("c", ["was_wished"]));
    valueOf(await world.write("a", ["was_booked", "was_booked"]));
    host.timeMs += 60_000;
    await service.background.drainTimers(100);
    assert.equal((await eventsOf(service, tenant, "show", "a")).length, 3);
    const [{ error_type, context }, ...more] = await errorsOf(world) as [
      Awaited<ReturnType<typeof errorsOf>>[0],
    ];
    assert.deepEqual(more, []);
    assert.deepEqual([error_type, context.operation], ["implication_failed", "fire_scheduled"]);
    assert.equal(await service.background.drainTimers(100), 0, "and it is not tried again");
  });
});

/** Turns that a test ends, and a clock that it sets. */
function openTurns() {
  let ends: (() => void)[] = [];
  return {
    nowMs: 0,
    monotonicMs() {
      return this.nowMs;
    },
    yieldTurn: () => new Promise<void>((resolve) => ends.push(resolve)),
    async endTurn() {
      for (const end of ends.splice(0)) end();
      await settle();
    },
    drop() {
      ends = [];
    },
  };
}

function settle(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0));
}

/** Makes visits of a given size, and records their names when they are prepared. */
function visitor(room: EmissionRoom, names: string[]) {
  return (tenant: number, name: string, bytes: number, takesMs?: () => void) => {
    let leave = () => {};
    const stays = new Promise<void>((resolve) => leave = resolve);
    const done = room.enter(tenant, {
      prepare() {
        names.push(name);
        takesMs?.();
        return name;
      },
      sizeOf: () => bytes,
      use: async (prepared) => {
        await stays;
        return prepared;
      },
    });
    return { done, leave };
  };
}

Deno.test("what comes while there is room is prepared at once", async () => {
  const names: string[] = [];
  const turns = openTurns();
  const visit = visitor(openEmissionRoom(turns, 1_000_000), names);
  const one = visit(1, "one", 10);
  assert.deepEqual(names, ["one"]);
  one.leave();
  assert.equal(await one.done, "one");
});

Deno.test("what is beyond the bytes of its environment waits until something has left", async () => {
  const names: string[] = [];
  const visit = visitor(openEmissionRoom(openTurns(), 1_000_000), names);
  const one = visit(1, "one", 500_000);
  const two = visit(1, "two", 10);
  const other = visit(2, "other", 10);
  assert.deepEqual(names, ["one", "other"]);
  one.leave();
  await one.done;
  assert.deepEqual(names, ["one", "other", "two"]);
  for (const { leave } of [two, other]) leave();
  await Promise.all([two.done, other.done]);
});

Deno.test("after two milliseconds in a turn the rest waits for the next turn", async () => {
  const names: string[] = [];
  const turns = openTurns();
  const visit = visitor(openEmissionRoom(turns, 1_000_000), names);
  const slow = () => void (turns.nowMs += 1.5);
  for (const name of ["a", "b", "c", "d"]) visit(1, name, 1, slow).leave();
  assert.deepEqual(names, ["a", "b"]);
  await turns.endTurn();
  assert.deepEqual(names, ["a", "b", "c", "d"]);
});

Deno.test("environments take turns where several wait", async () => {
  const names: string[] = [];
  const turns = openTurns();
  const visit = visitor(openEmissionRoom(turns, 1_000_000), names);
  visit(1, "first", 1, () => void (turns.nowMs += 5)).leave();
  for (const name of ["a1", "a2", "a3"]) visit(1, name, 1).leave();
  for (const name of ["b1", "b2"]) visit(2, name, 1).leave();
  await turns.endTurn();
  assert.deepEqual(names, ["first", "a1", "b1", "a2", "b2", "a3"]);
});

Deno.test("a preparation that fails gives its room back, and its error goes to its caller", async () => {
  const room = openEmissionRoom(openTurns(), 100_000);
  const fails = () => {
    throw new Error("no");
  };
  const failing = room.enter(1, { prepare: fails, sizeOf: () => 0, use: () => Promise.resolve() });
  await assert.rejects(failing, /no/);
  const asked = room.enter(1, {
    prepare: () => Promise.reject(new Error("later")),
    sizeOf: () => 0,
    use: () => Promise.resolve(),
  });
  await assert.rejects(asked, /later/);
  const names: string[] = [];
  const one = visitor(room, names)(1, "one", 1);
  assert.deepEqual(names, ["one"]);
  one.leave();
  await one.done;
});

Deno.test("an event that sets off much is prepared in many turns, and whole", async () => {
  const emit = { aggregate_type: "note", id: "global", event_type: "was_seen", data: "$.data" };
  const implications = Array.from({ length: 60 }, () => ({ emit }));
  const compiled = compileSpec({
    aggregate_types: {
      note: { events: { was_seen: { schema: true, handler: [], implications } } },
    },
    agent_types: ["user"],
  });
  assert.ok(compiled.ok);
  const { nowMs, turns, host } = countingHost();
  const prepared: PreparedWrite[] = [];
  const combiner = {
    submit: (_tenant: number, write: PreparedWrite) => {
      prepared.push(write);
      return new Promise<never>(() => {});
    },
  };
  const emitter = createEmitter(host, combiner as never, {} as never);
  const emission = {
    key: streamKey("note", "global"),
    aggregateType: "note",
    id: "global",
    eventType: "was_seen",
    data: { list: Array.from({ length: 10_000 }, (_, n) => n) },
  };
  const stamp = { actor: { type: "user", id: "global" } };
  const root = rootOf(undefined, emission.key, "000000000000");
  const moment = { nowMs, ownWaitMs: 1_000 };
  void emitter.write(1, compiled.spec, { emission, stamp, requestId: "r", root }, moment);
  while (prepared.length === 0) await settle();
  assert.equal(prepared[0]!.impliedCount, 60);
  assert.ok(turns.count >= 8, `prepared in ${turns.count} turns`);
});

/** A host whose clock moves by a whole slice whenever it is read, and which counts turns. */
function countingHost() {
  const host = fakeHost();
  const turns = { count: 0 };
  let readAtMs = host.timeMs;
  host.monotonicMs = () => readAtMs += 5;
  host.yieldTurn = () => {
    turns.count++;
    return settle();
  };
  return { nowMs: host.timeMs, turns, host };
}
