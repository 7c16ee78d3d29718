/** `open`: prints the address of the console, and opens it where a browser can be started. */

import { ask } from "./remote.ts";
import { type CommonOptions, openSession } from "./session.ts";
import { systemHost } from "../host.ts";

const CONSOLE = "/_console/";
/** How each system opens an address. */
const OPENERS: Readonly<Partial<Record<typeof Deno.build.os, readonly string[]>>> = {
  darwin: ["open"],
  linux: ["xdg-open"],
  windows: ["rundll32", "url.dll,FileProtocolHandler"],
};

export async function openConsole(options: CommonOptions): Promise<void> {
  const { output, address: addressOf } = await openSession(options);
  const address = await addressOf();
  const url = new URL(CONSOLE, address).href;
  const answer = await isThere(address);
  if (answer !== true) return output.fail(answer);
  const opened = Deno.stdout.isTerminal() && !output.json && await start(url);
  output.result({ url, opened }, () => opened ? `Opened ${url}` : url);
}

async function isThere(base: string) {
  const host = systemHost();
  const call = { base, path: CONSOLE, as: "nobody" } as const;
  // A page is not JSON, so an answer that is no refusal of the API is a console.
  const answer = await ask(host, {}, call);
  if (answer.ok) return true;
  const { failure } = answer;
  if (failure.error_type === "not_daybook" && failure.status === 200) return true;
  if (failure.status !== 404) return failure;
  return {
    error: `The server at ${base} has no console yet.`,
    error_type: "no_console",
    hint: "Use the commands: daybook state, events tail, sql, diff.",
  };
}

/** False where no program may be started, as without the permission to run one. */
async function start(url: string): Promise<boolean> {
  const [command, ...args] = OPENERS[Deno.build.os] ?? [];
  if (command === undefined) return false;
  try {
    const { success } = await new Deno.Command(command, { args: [...args, url] }).output();
    return success;
  } catch {
    return false;
  }
}
