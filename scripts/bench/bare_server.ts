/**
 * The yardstick for a write on a cluster: the same runtime and router, and one bare transaction
 * for each request. The arguments are the port and the cluster file.
 */

import { Hono } from "hono";
import { openBareCommits } from "./bare_commits.ts";

const [port, clusterFile] = Deno.args;
const commits = await openBareCommits(clusterFile!);
const app = new Hono();
app.post("/noop", async (context) => {
  await context.req.json();
  await commits.run();
  return context.json({ ok: true }, 201);
});
Deno.serve({ hostname: "127.0.0.1", port: Number(port), onListen() {} }, app.fetch);
