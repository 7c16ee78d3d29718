/**
 * Keeps the way of a request short: how many files and calls of ours it may pass. A change that
 * makes the way shorter lowers the numbers here, to the next ten of calls, because on a busy
 * machine a turn more is taken now and then. `deno task walk` prints the way.
 */

import assert from "node:assert/strict";
import { countCalls, countWalks, type Walks } from "./count_walk.ts";

const LONGEST: Readonly<Record<keyof Walks, { readonly files: number; readonly calls: number }>> = {
  post: { files: 70, calls: 530 },
  keyedPost: { files: 74, calls: 640 },
  cachedGet: { files: 27, calls: 110 },
};

Deno.test("countWalks() finds no request on a longer way than it may take", async () => {
  const walks = await countWalks();
  for (const [name, longest] of Object.entries(LONGEST)) {
    const walk = walks[name as keyof Walks];
    assert.ok(walk.some(({ path }) => path === "src/http/app.ts"), `${name} is followed`);
    assert.ok(walk.length <= longest.files, `${name} passes ${walk.length} files`);
    assert.ok(countCalls(walk) <= longest.calls, `${name} passes ${countCalls(walk)} calls`);
  }
});
