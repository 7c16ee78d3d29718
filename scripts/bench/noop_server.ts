/**
 * The yardstick: the same runtime and router with nothing behind them. The first argument is
 * the port.
 */

import { Hono } from "hono";

const app = new Hono();
app.get("/noop", (context) => context.json({ ok: true }));
app.post("/noop", async (context) => {
  await context.req.json();
  return context.json({ ok: true }, 201);
});
Deno.serve({ hostname: "127.0.0.1", port: Number(Deno.args[0]), onListen() {} }, app.fetch);
