/** Waiting for the answers of FoundationDB's client, over a library that answers when told to. */

import assert from "node:assert/strict";
import { openFutures } from "../../../src/kv/foundationdb/futures.ts";
import { type Address, ClientError, type Library } from "../../../src/kv/foundationdb/native.ts";

interface Future {
  isReady: boolean;
  error: number;
  isDestroyed: boolean;
  /** Threads that wait for it. */
  readonly waiting: (() => void)[];
}

/** Futures are answered by {@link answer}; what would crash a process throws instead. */
function fakeClient() {
  const futures = new Map<Address, Future>();
  let waits = 0;
  let mostWaiting = 0;

  function find(address: Address): Future {
    const future = futures.get(address)!;
    assert.ok(!future.isDestroyed, "it was destroyed");
    return future;
  }

  const waitingNow = () => [...futures.values()].reduce((sum, f) => sum + f.waiting.length, 0);
  const calls = {
    fdb_future_is_ready: (address: Address) => find(address).isReady ? 1 : 0,
    fdb_future_get_error: (address: Address) => find(address).error,
    fdb_future_destroy(address: Address) {
      assert.deepEqual(find(address).waiting, [], "a thread looks at it");
      find(address).isDestroyed = true;
    },
    untilReady(address: Address) {
      const { promise, resolve } = Promise.withResolvers<number>();
      find(address).waiting.push(() => resolve(0));
      waits++;
      mostWaiting = Math.max(mostWaiting, waitingNow());
      return promise;
    },
  };
  const library = {
    calls,
    check(code: number) {
      if (code !== 0) throw new ClientError("it failed", code);
    },
  } as unknown as Library;
  return {
    library,
    begin(address: Address): Address {
      futures.set(address, { isReady: false, error: 0, isDestroyed: false, waiting: [] });
      return address;
    },
    answer(address: Address, error = 0): void {
      const future = find(address);
      future.isReady = true;
      future.error = error;
      for (const wake of future.waiting.splice(0)) wake();
    },
    isDestroyed: (address: Address) => futures.get(address)!.isDestroyed,
    waits: () => waits,
    mostWaiting: () => mostWaiting,
  };
}

/** Lets everything run that is ready to. */
function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

Deno.test("the answers to the calls of a turn are waited for once", async () => {
  const client = fakeClient();
  const { settle } = openFutures(client.library);
  const all = Promise.all(
    [1n, 2n, 3n].map((address) => settle(client.begin(address), "read", (future) => future * 10n)),
  );
  await turn();
  for (const address of [1n, 2n, 3n]) client.answer(address);
  assert.deepEqual(await all, [10n, 20n, 30n]);
  assert.equal(client.waits(), 1);
  assert.ok([1n, 2n, 3n].every(client.isDestroyed));
});

Deno.test("what is answered already is not waited for", async () => {
  const client = fakeClient();
  const { settle } = openFutures(client.library);
  const settled = settle(client.begin(1n), "read", () => "read");
  client.answer(1n);
  assert.equal(await settled, "read");
  assert.equal(client.waits(), 0);
});

Deno.test("an answer does not wait for the calls of other turns", async () => {
  const client = fakeClient();
  const { settle } = openFutures(client.library);
  const slow = settle(client.begin(1n), "read", () => "slow");
  await turn();
  const fast = settle(client.begin(2n), "read", () => "fast");
  await turn();
  client.answer(2n);
  assert.equal(await fast, "fast");
  client.answer(1n);
  assert.equal(await slow, "slow");
});

Deno.test("a read does not wait for a commit of its turn, nor for what the cluster puts off", async () => {
  const client = fakeClient();
  const { settle } = openFutures(client.library);
  const read = settle(client.begin(1n), "read", () => "read");
  const slow = [
    settle(client.begin(2n), "commit", () => "commit"),
    settle(client.begin(3n), "putOff", () => "put off"),
  ];
  await turn();
  client.answer(1n);
  assert.equal(await read, "read");
  client.answer(3n);
  client.answer(2n);
  assert.deepEqual(await Promise.all(slow), ["commit", "put off"]);
});

Deno.test("a future that fails rejects, alone, and is destroyed like the others", async () => {
  const client = fakeClient();
  const { settle } = openFutures(client.library);
  const bad = settle(client.begin(1n), "read", () => assert.fail("it has nothing to read"));
  const good = settle(client.begin(2n), "read", () => "read");
  const rejected = assert.rejects(bad, { name: "ClientError", code: 1007 });
  await turn();
  client.answer(1n, 1007);
  client.answer(2n);
  await rejected;
  assert.equal(await good, "read");
  assert.ok([1n, 2n].every(client.isDestroyed));
});

Deno.test("a reading that throws rejects, and its future is destroyed", async () => {
  const client = fakeClient();
  const { settle } = openFutures(client.library);
  const settled = settle(client.begin(1n), "read", () => {
    throw new RangeError("too long");
  });
  const rejected = assert.rejects(settled, RangeError);
  client.answer(1n);
  await rejected;
  assert.ok(client.isDestroyed(1n));
});

Deno.test("however many turns wait, threads are few, and each answer is heard", async () => {
  const client = fakeClient();
  const { settle } = openFutures(client.library);
  const addresses = Array.from({ length: 300 }, (_, n) => BigInt(n + 1));
  const settled: Promise<bigint>[] = [];
  for (const address of addresses) {
    settled.push(settle(client.begin(address), "read", (future) => future));
    await turn();
  }
  assert.equal(client.mostWaiting(), 32);
  // In an order that is neither that of the calls nor its reverse.
  for (const address of addresses.toSorted((a, b) => Number((a * 7n) % 301n - (b * 7n) % 301n))) {
    client.answer(address);
    await turn();
  }
  assert.deepEqual(await Promise.all(settled), addresses);
  assert.ok(addresses.every(client.isDestroyed));
});
