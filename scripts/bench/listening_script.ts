/** Scripts of this folder that run in processes of their own and listen, beside the server. */

import { freePort, untilOpen } from "./free_port.ts";

export interface ListeningScript {
  readonly port: number;
  readonly pid: number;
  stop(): Promise<void>;
}

/**
 * Resolves once the script listens on the port, which is its first argument.
 * @param wrapper a command that runs its arguments, such as `taskset`.
 */
export async function startListening(
  script: string,
  { wrapper = [], args = [] }: { readonly wrapper?: readonly string[]; readonly args?: string[] } =
    {},
): Promise<ListeningScript> {
  const port = freePort();
  const path = new URL(script, import.meta.url).pathname;
  const command = [...wrapper, Deno.execPath(), "run", "-A", path, String(port), ...args];
  const child = new Deno.Command(command[0]!, { args: command.slice(1) }).spawn();
  const stop = async () => {
    child.kill("SIGKILL");
    await child.status;
  };
  await untilOpen(port).catch(async (error) => {
    await stop();
    throw error;
  });
  return { port, pid: child.pid, stop };
}
