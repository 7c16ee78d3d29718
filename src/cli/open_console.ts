/**
 * `open`: opens the console in a browser, signed in with the operator token of this machine or of
 * the profile, and prints its address without the token.
 */

import { ask } from "./connection/remote.ts";
import { type CommonOptions, openSession } from "./connection/session.ts";
import { systemHost } from "../host.ts";

const CONSOLE = "/_console/";
/** So long the browser has to read the file that leads to the console. */
const READ_MS = 5_000;
/** How each system opens an address. */
const OPENERS: Readonly<Partial<Record<typeof Deno.build.os, readonly string[]>>> = {
  darwin: ["open"],
  linux: ["xdg-open"],
  windows: ["rundll32", "url.dll,FileProtocolHandler"],
};

export async function openConsole(options: CommonOptions): Promise<void> {
  const { output, server, address: addressOf } = await openSession(options);
  const address = await addressOf();
  const url = new URL(CONSOLE, address).href;
  const answer = await isThere(address);
  if (answer !== true) return output.fail(answer);
  const mayOpen = Deno.stdout.isTerminal() && !output.json;
  const opened = mayOpen && await startBrowser(signedIn(url, server.token));
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
    error: `The server at ${base} has no console.`,
    error_type: "no_console",
    hint: "Where the server runs, build it: deno task console.",
  };
}

/** What stands behind `#` is sent to no server, and the page takes it out of its address. */
function signedIn(url: string, token: string | undefined): string {
  return token === undefined ? url : `${url}#token=${encodeURIComponent(token)}`;
}

/**
 * Every user of the machine can read the arguments of a program, so the browser is given a file
 * that only this user can read and that leads on to the address. False where no program may be
 * started, as without the permission to run one.
 */
async function startBrowser(url: string): Promise<boolean> {
  const [command, ...args] = OPENERS[Deno.build.os] ?? [];
  if (command === undefined) return false;
  let file: string | undefined;
  try {
    file = await Deno.makeTempFile({ prefix: "daybook_open_", suffix: ".html" });
    await Deno.writeTextFile(file, leadTo(url), { mode: 0o600 });
    const { success } = await new Deno.Command(command, { args: [...args, file] }).output();
    // The browser may read the file only after the program that opens it has ended.
    if (success) await new Promise((resolve) => setTimeout(resolve, READ_MS));
    return success;
  } catch {
    return false;
  } finally {
    if (file !== undefined) await Deno.remove(file).catch(() => {});
  }
}

/** A page that leads on. Addresses are percent-encoded, and hold neither quotes nor `<`. */
export function leadTo(url: string): string {
  return `<!doctype html><meta charset="utf-8"><title>Daybook</title>` +
    `<meta http-equiv="refresh" content="0; url='${new URL(url).href.replaceAll("'", "%27")}'">`;
}
