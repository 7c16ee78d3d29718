/**
 * The neighbour as the siege sees it: starts its process, sends it commands and reads its
 * results.
 */

import type { Aim, Observation } from "./probes.ts";

export interface Neighbour {
  /** The port to which its own listener delivers. */
  readonly receiverPort: number;
  aim(aim: Aim): Promise<void>;
  begin(): Promise<void>;
  /** Resolves when every request that was due has been answered or given up. */
  end(): Promise<Observation>;
  stop(): Promise<void>;
}

const PROGRAM = new URL("neighbour_process.ts", import.meta.url).pathname;
/** Gives it the processor before the attackers, if that is permitted. */
const FIRST = ["nice", "-n", "-10"];

export async function startNeighbour(): Promise<Neighbour> {
  const mayGoFirst = Deno.uid() === 0;
  const command = [
    ...(mayGoFirst ? FIRST : []),
    Deno.execPath(),
    "run",
    "--allow-net=127.0.0.1",
    PROGRAM,
  ];
  const child = new Deno.Command(command[0]!, {
    args: command.slice(1),
    stdin: "piped",
    stdout: "piped",
  }).spawn();
  const writer = child.stdin.getWriter();
  const lines = linesOf(child.stdout);
  const tell = (command: unknown) => writer.write(encoder.encode(`${JSON.stringify(command)}\n`));
  const hear = async () => JSON.parse((await lines.next()).value as string);
  const { receiverPort } = await hear() as { receiverPort: number };
  return {
    receiverPort,
    aim: (aim) => tell({ do: "aim", aim }),
    begin: () => tell({ do: "begin" }),
    async end() {
      await tell({ do: "end" });
      return await hear() as Observation;
    },
    async stop() {
      await writer.close();
      await lines.return(undefined);
      await child.status;
    },
  };
}

const encoder = new TextEncoder();

async function* linesOf(stream: ReadableStream<Uint8Array<ArrayBuffer>>): AsyncGenerator<string> {
  let rest = "";
  for await (const text of stream.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + text).split("\n");
    rest = lines.pop()!;
    yield* lines;
  }
}
