/**
 * The client in a page whose origin `DAYBOOK_CORS_ORIGINS` does not name, in Chromium: it reads
 * and follows, and when it writes it is told which setting is missing.
 */

import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { createClient } from "@daybook/client";
import { minifiedEntry } from "../../../scripts/pack/bundle_entries.ts";
import { threeFreePorts } from "../../../sdk/src/test/free_ports.ts";
import { type Shop, withShop } from "../shop_server.ts";
import { findCommand } from "./installed_package.ts";
import { visitPage } from "./visit_page.ts";

const chromium = findCommand(["chromium", "chromium-browser", "google-chrome"]);
if (chromium === undefined) console.log("SKIPPED: the client in a foreign page: no Chromium");

interface Seen {
  readonly length: number;
  readonly followed: string;
  readonly error_type: string;
  readonly hint: string;
}

Deno.test({
  name: "a page of an origin that is not named reads, and is told why it may not write",
  ignore: chromium === undefined,
  // A browser may leave processes and sockets behind that end a moment later.
  sanitizeOps: false,
  fn: () =>
    withShop(async ({ options }) => {
      await createClient<Shop>(options).order("main").was_placed({ customer: "Ada" })
        .orThrow();
      const code = Buffer.from(await minifiedEntry("core/mod.ts")).toString("base64");
      const entry = `data:text/javascript;base64,${code}`;
      const seen = await visitPage<Seen>(chromium!, {
        port: await threeFreePorts(),
        script: `
import { createClient } from "${entry}";
const db = createClient(${JSON.stringify(options)});
const order = db.order("main");
const { length } = await order.length().orThrow();
let followed;
for await (const { event } of db.$feed()) {
  followed = event.type;
  break;
}
const { error_type, hint } = await order.was_noted({ text: "a" });
const result = { length, followed, error_type, hint };`,
      });
      assert.deepEqual({ ...seen, hint: undefined }, {
        length: 1,
        followed: "was_placed",
        error_type: "cors_refused",
        hint: undefined,
      });
      assert.match(seen.hint, /DAYBOOK_CORS_ORIGINS/);
    }),
});
