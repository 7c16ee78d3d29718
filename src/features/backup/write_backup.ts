/** Writes a backup of the whole deployment as one file. See docs/operate/backup.md. */

import { createBackupWriter } from "../../domain/backup/backup_file.ts";
import type { Host } from "../../host.ts";
import type { Bytes, Engine } from "../../kv/engine.ts";

/** A file beside the store that a restored deployment needs: its name and its bytes. */
export interface PrivateFile {
  readonly name: string;
  readonly content: Bytes;
}

export interface BackupSource {
  /** The name of the engine. */
  readonly store: string;
  readPrivateFiles(): Promise<readonly PrivateFile[]>;
}

/**
 * The bytes of the file, in order. If the backup cannot be completed, the last of them say so, and
 * then this throws.
 */
export async function* writeBackup(
  engine: Engine,
  host: Pick<Host, "nowMs">,
  source: BackupSource,
): AsyncGenerator<Bytes, void, void> {
  const writer = createBackupWriter();
  const pieces = engine.backup();
  try {
    // Fails at once if another backup runs.
    let step = await pieces.next();
    yield* writer.begin({ store: source.store, begun_at: timeOf(host.nowMs()) });
    for (const { name, content } of await source.readPrivateFiles()) {
      yield* writer.file(name, content);
    }
    for (; step.done !== true; step = await pieces.next()) {
      yield* writer.store(step.value.bytes, step.value.sha256);
    }
    const { version, ageMs } = step.value;
    const completed_at = timeOf(host.nowMs() - ageMs);
    yield* writer.end({ version: String(version), completed_at });
  } catch (error) {
    yield* writer.fail(error instanceof Error ? error.message : String(error));
    throw error;
  } finally {
    await pieces.return?.({ version: 0n, ageMs: 0 });
  }
}

function timeOf(ms: number): string {
  return new Date(ms).toISOString();
}
