/** The container image runs the server as the `start` task does, and not as root. */

import assert from "node:assert/strict";

const ROOT = new URL("../../", import.meta.url);
const dockerfile = await Deno.readTextFile(new URL("Dockerfile", ROOT));

Deno.test("the image starts the server with the permissions of `deno task start`", async () => {
  const config = JSON.parse(await Deno.readTextFile(new URL("deno.json", ROOT)));
  // The task asks a shell where the runtime is; in the image there is one, on the path.
  const task = (config.tasks.start as string)
    .replace(/"--allow-run=\$\([^)]*\)\)'\)([^"]*)"/, "--allow-run=deno$1").split(" ").slice(1);
  const command: string[] = JSON.parse(/^CMD (\[.*\])$/m.exec(dockerfile)![1]!);
  assert.deepEqual(command.filter((word) => !["--cached-only", "--frozen"].includes(word)), task);
});

Deno.test("the image runs without root, keeps data in /data and listens on three ports", () => {
  const lines = dockerfile.split("\n");
  assert.ok(lines.includes("USER deno"));
  assert.ok(lines.includes("VOLUME /data"));
  assert.ok(lines.includes("EXPOSE 8000-8002"));
  assert.match(dockerfile, /DAYBOOK_HOST=0\.0\.0\.0/);
  assert.match(dockerfile, /DAYBOOK_DATA_DIR=\/data/);
});

Deno.test("the image and the README's command use the same version of Deno", async () => {
  const version = /^FROM denoland\/deno:(.*)$/m.exec(dockerfile)![1];
  const run = await Deno.readTextFile(new URL(".ci/run", ROOT));
  assert.ok(run.includes(`deno@${version}`));
});
