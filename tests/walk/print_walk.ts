/** `deno task walk`: prints which functions a POST and a cached GET pass, file by file. */

import { countCalls, countFunctions, countWalks, type Walk } from "./count_walk.ts";

function printWalk(title: string, walk: Walk): void {
  const size = `${walk.length} files, ${countFunctions(walk)} functions, ${countCalls(walk)} calls`;
  console.log(`${title}: ${size}\n`);
  for (const { path, functions } of walk) {
    const names = functions.map(({ name, calls }) => {
      const shown = name === "" ? "(anonymous)" : name;
      return calls === 1 ? shown : `${shown} x${calls}`;
    });
    console.log(`  ${path}\n      ${names.join(", ")}`);
  }
  console.log();
}

const { post, keyedPost, cachedGet } = await countWalks();
printWalk("POST of one event", post);
printWalk("POST of one event with an idempotency key", keyedPost);
printWalk("GET of a state in the cache", cachedGet);
