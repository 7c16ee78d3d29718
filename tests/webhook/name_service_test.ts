/** Names are resolved a few at a time, whoever asks and however long the answer takes. */

import assert from "node:assert/strict";
import { limits } from "../../src/domain/limits.ts";
import type { ResolvedAddress } from "../../src/webhook/guard.ts";
import { openNameService } from "../../src/webhook/name_service.ts";

const HERE: readonly ResolvedAddress[] = [{ address: "192.0.2.1", family: 4 }];

/** A name service that answers when it is told to. */
function slowService() {
  const open = new Map<string, PromiseWithResolvers<readonly ResolvedAddress[]>[]>();
  let most = 0;
  const underWay = () => [...open.values()].reduce((sum, each) => sum + each.length, 0);
  return {
    resolve(name: string) {
      const answer = Promise.withResolvers<readonly ResolvedAddress[]>();
      open.set(name, [...open.get(name) ?? [], answer]);
      most = Math.max(most, underWay());
      return answer.promise;
    },
    names: () => [...open.keys()],
    most: () => most,
    async answer(name: string) {
      const [first] = open.get(name)!;
      open.delete(name);
      first!.resolve(HERE);
      await turn();
    },
    async fail(name: string) {
      const [first] = open.get(name)!;
      open.delete(name);
      first!.reject(new Error("no such name"));
      await turn();
    },
  };
}

function turn(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0));
}

function names(count: number, of: string): string[] {
  return Array.from({ length: count }, (_, index) => `${of}-${index}.example`);
}

Deno.test("the lookups leave most of the runtime's 32 threads to the disk", () => {
  assert.ok(limits.nameLookupsMax <= 16);
  assert.ok(limits.nameLookupsPerInstanceMax * 3 <= limits.nameLookupsMax);
});

Deno.test("one owner has a few lookups under way, and others theirs beside", async () => {
  const service = slowService();
  const lookups = openNameService(service.resolve);
  const hanging = names(100, "a").map(lookups.of("a"));
  assert.equal(service.names().length, limits.nameLookupsPerInstanceMax);
  const other = lookups.of("b")("b.example");
  await service.answer("b.example");
  assert.deepEqual(await other, HERE);
  for (let answered = 0; answered < 100; answered++) await service.answer(service.names()[0]!);
  assert.deepEqual(await Promise.all(hanging), hanging.map(() => HERE));
});

Deno.test("all owners together have no more under way than the limit, and each gets its answer", async () => {
  const service = slowService();
  const lookups = openNameService(service.resolve);
  const owners = ["a", "b", "c", "d", "e", "f", "g", "h"];
  const asked = owners.flatMap((owner) => names(9, owner).map(lookups.of(owner)));
  assert.equal(service.most(), limits.nameLookupsMax);
  while (service.names().length > 0) await service.answer(service.names()[0]!);
  assert.equal((await Promise.all(asked)).length, 72);
  assert.equal(service.most(), limits.nameLookupsMax);
});

Deno.test("who asks again for a name that is on its way waits for the same answer", async () => {
  const service = slowService();
  const ask = openNameService(service.resolve).of("a");
  const both = Promise.all([ask("x.example"), ask("x.example")]);
  assert.deepEqual(service.names(), ["x.example"]);
  await service.answer("x.example");
  assert.deepEqual(await both, [HERE, HERE]);
  const later = ask("x.example");
  await service.answer("x.example");
  assert.deepEqual(await later, HERE, "and asks anew afterwards");
});

Deno.test("a lookup that fails makes room as one that succeeds", async () => {
  const service = slowService();
  const ask = openNameService(service.resolve).of("a");
  const refused = names(10, "a").map((name) => assert.rejects(ask(name), /no such name/));
  while (service.names().length > 0) await service.fail(service.names()[0]!);
  await Promise.all(refused);
  const good = ask("good.example");
  await service.answer("good.example");
  assert.deepEqual(await good, HERE);
});
