/** Holds what needs a stream of one environment, as a module that takes long does. */

import { wrapEngine } from "../../src/kv/calls.ts";
import type { Bytes, Engine, ReadTransaction } from "../../src/kv/engine.ts";
import { unpack } from "../../src/kv/tuple.ts";
import { kind } from "../../src/store/key_kinds.ts";

export interface StreamGate {
  /** The engine whose snapshots are held. Transactions are not. */
  wrap(engine: Engine): Engine;
  /** From now on, who looks at a stream of the environment waits for `release`. */
  hold(tenant: number): HeldLooks;
}

export interface HeldLooks {
  /** Resolves with the first one. */
  readonly begun: Promise<void>;
  count(): number;
  release(): void;
  /** The looks end with an error instead. */
  fail(error: Error): void;
}

interface Hold {
  readonly tenant: number;
  readonly begun: PromiseWithResolvers<void>;
  readonly over: PromiseWithResolvers<void>;
  looks: number;
}

export function openStreamGate(): StreamGate {
  let held: Hold | undefined;

  async function pass(key: Bytes): Promise<void> {
    if (held === undefined) return;
    const [tenant, what] = unpack(key);
    if (tenant !== held.tenant || what !== kind.stream) return;
    held.looks++;
    held.begun.resolve();
    await held.over.promise;
  }

  function watched(tx: ReadTransaction): ReadTransaction {
    return new Proxy(tx, {
      get(target, name) {
        if (name === "get") {
          return async (key: Bytes) => {
            await pass(key);
            return await target.get(key);
          };
        }
        const value = Reflect.get(target, name);
        return typeof value === "function" ? value.bind(target) : value;
      },
    });
  }

  return {
    wrap: (engine) =>
      wrapEngine(engine, {
        snapshot: (body, options) => engine.snapshot((tx) => body(watched(tx)), options),
      }),
    hold(tenant) {
      const hold: Hold = {
        tenant,
        begun: Promise.withResolvers(),
        over: Promise.withResolvers(),
        looks: 0,
      };
      held = hold;
      return {
        begun: hold.begun.promise,
        count: () => hold.looks,
        release() {
          held = undefined;
          hold.over.resolve();
        },
        fail(error) {
          held = undefined;
          hold.over.reject(error);
        },
      };
    },
  };
}
