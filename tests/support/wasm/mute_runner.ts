/** A runner that reports ready and never answers; its argument says what it does instead. */

import { encodeFrame } from "../../../src/runners/frame.ts";

const ready = { kind: "ready", tookMs: 0, pauses: false };
Deno.stdout.writeSync(encodeFrame(ready, new Uint8Array(0)));
const piece = new Uint8Array(65_536);
for (let count: number | null = 0; count !== null;) {
  count = Deno.stdin.readSync(piece);
  if (Deno.args[0] === "exit") Deno.exit(1);
  // Deaf and busy: only the kernel can end it.
  if (Deno.args[0] === "spin") { for (let turn = 0;; turn++); }
}
