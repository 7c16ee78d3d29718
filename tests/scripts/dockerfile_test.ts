/** The container image runs the server as the `start` task does, and not as root. */

import assert from "node:assert/strict";
import { DOCUMENTS } from "../../scripts/docs/pages.ts";

const ROOT = new URL("../../", import.meta.url);
const dockerfile = await Deno.readTextFile(new URL("Dockerfile", ROOT));

Deno.test("the image starts the server with the permissions of `deno task start`", async () => {
  const config = JSON.parse(await Deno.readTextFile(new URL("deno.json", ROOT)));
  const command: string[] = JSON.parse(/^CMD (\[.*\])$/m.exec(dockerfile)![1]!);
  // The shell becomes the server, and nothing is fetched.
  const started = (config.tasks.start.command as string).replace(
    "deno run ",
    "exec deno run --cached-only ",
  );
  assert.deepEqual(command, ["sh", "-c", started]);
  assert.match(dockerfile, /^COPY scripts\/start_permissions\.ts .*scripts\/$/m);
});

Deno.test("the image is built with every document that the documentation is made of", async () => {
  const ignored = (await Deno.readTextFile(new URL(".dockerignore", ROOT))).split("\n");
  const copied = [...dockerfile.matchAll(/^COPY (?!--)(.*) \S+$/gm)]
    .flatMap(([, paths]) => paths!.split(" ").map((path) => path.replace(/\/$/, "")));
  const isAmong = (path: string, folders: readonly string[]) =>
    folders.some((folder) => path === folder || path.startsWith(`${folder}/`));
  const sent = ignored.filter((line) => line.startsWith("!")).map((line) => line.slice(1));
  const roots = (await Array.fromAsync(Deno.readDir(ROOT))).map(({ name }) => name)
    .filter((name) => sent.includes("*.md") && name.endsWith(".md"));
  for (const path of DOCUMENTS) {
    assert.ok(isAmong(path, copied), `${path} is copied`);
    assert.ok(isAmong(path, [...sent, ...roots]), `${path} is sent to the builder`);
  }
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
