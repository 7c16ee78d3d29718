/** A store of any engine in the engine contract that can be opened again and again. */

import { unshared } from "../support/temporary_engine.ts";
import type { OpenedEngine } from "../contract/engine_fixture.ts";
import type { Store } from "./subject.ts";

/** @throws {Error} for an engine that cannot be opened again. */
export function storeOf(opened: OpenedEngine): Store {
  let isOpened = false;
  return {
    async open() {
      if (!isOpened) {
        isOpened = true;
        return unshared(opened.engine);
      }
      if (opened.reopen === undefined) throw new Error("this engine cannot be opened again");
      return unshared(await opened.reopen());
    },
    dispose: () => opened.dispose(),
  };
}
