/** The independent Python verifier as a process: takes documents in batches, returns verdicts. */

export const AUDIT_ORACLE = new URL("audit_oracle.py", import.meta.url).pathname;

export interface AuditOracle extends AsyncDisposable {
  /** Returns "ok" for each document, or the step that failed. */
  judge(documents: readonly Uint8Array[]): Promise<string[]>;
}

/** Returns undefined and prints the reason where Python or OpenSSL is missing. */
export async function startAuditOracle(): Promise<AuditOracle | undefined> {
  const missing = await missingForOracle();
  if (missing !== undefined) {
    console.log(`the independent verifier was left out: ${missing}`);
    return undefined;
  }
  const child = new Deno.Command("python3", {
    args: [AUDIT_ORACLE, "verify"],
    stdin: "piped",
    stdout: "piped",
  }).spawn();
  const writer = child.stdin.getWriter();
  const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";

  async function readLines(count: number): Promise<string[]> {
    const lines: string[] = [];
    while (lines.length < count) {
      const { value, done } = await reader.read();
      if (done) throw new Error("the independent verifier has ended");
      const parts = (rest + value).split("\n");
      rest = parts.pop()!;
      lines.push(...parts);
    }
    return lines;
  }

  return {
    async judge(documents) {
      const [lines] = await Promise.all([
        readLines(documents.length),
        writer.write(framesOf(documents)),
      ]);
      return lines;
    },
    async [Symbol.asyncDispose]() {
      await writer.close();
      await reader.cancel();
      await child.status;
    },
  };
}

/** Returns why this machine cannot run the verifier; undefined if it can. */
export async function missingForOracle(): Promise<string | undefined> {
  try {
    const { success, stderr } = await new Deno.Command("python3", {
      args: [AUDIT_ORACLE, "verify"],
      stdin: "null",
      stdout: "null",
      stderr: "piped",
    }).output();
    return success ? undefined : new TextDecoder().decode(stderr).trim();
  } catch {
    return "there is no python3 on this machine";
  }
}

function framesOf(documents: readonly Uint8Array[]): Uint8Array {
  const frames = new Uint8Array(documents.reduce((sum, { length }) => sum + 4 + length, 4));
  const view = new DataView(frames.buffer);
  view.setUint32(0, documents.length);
  let at = 4;
  for (const document of documents) {
    view.setUint32(at, document.length);
    frames.set(document, at + 4);
    at += 4 + document.length;
  }
  return frames;
}
