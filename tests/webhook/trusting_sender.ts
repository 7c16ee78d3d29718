/** Sends one delivery to the URL in its argument, a name of this machine; prints the answer. */

import { systemHost } from "../../src/host.ts";
import { webhookSender } from "../../src/webhook/sender.ts";

const sender = webhookSender(systemHost(), {
  allowPrivate: true,
  resolve: () => Promise.resolve([{ address: "127.0.0.1", family: 4 }]),
});
const answer = await sender.send({ owner: "shop", url: Deno.args[0]!, headers: {}, body: "{}" });
console.log(JSON.stringify(answer));
sender.close();
