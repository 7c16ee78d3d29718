/**
 * Backups of the whole deployment, and the pause after a restore, bound to one engine and one host.
 * See docs/operate/backup.md.
 *
 * A restored deployment must not act twice in the world: what its backup had still to do may have
 * been done since by the deployment that was backed up. So all environments are paused, and
 * deliveries and anchors wait, until an operator resumes them.
 */

import { ENVIRONMENTS } from "../../domain/tenant.ts";
import { accept, type Outcome, refuse } from "../../domain/refusal.ts";
import type { Host } from "../../host.ts";
import type { Bytes, Engine } from "../../kv/engine.ts";
import { listInstances } from "../../store/access/instances.ts";
import { listPauses, readPause, savePause } from "../../store/reactions/paused_reactions.ts";
import { readRestored, type RestoredMark, setRestored } from "../../store/restored.ts";
import type { PausedReactions } from "../reactions/follow_pauses.ts";
import { type BackupSource, writeBackup } from "./write_backup.ts";

export interface BackupService {
  /**
   * The bytes of a backup of the whole deployment. Refused while another one runs, and where the
   * store cannot be backed up by this process. Ends when all was taken or `return` is called.
   */
  begin(): Outcome<AsyncGenerator<Bytes, void, void>>;
  /** Whether the deployment was restored and still waits. */
  readRestored(): Promise<RestoredView>;
  /** Ends that waiting. */
  resumeRestored(): Promise<void>;
}

export interface BackupParts {
  readonly engine: Engine;
  readonly host: Host;
  readonly paused: PausedReactions;
}

/** @param source absent: this process writes no backups. */
export function createBackups(
  { engine, host, paused }: BackupParts,
  source: BackupSource | undefined,
): BackupService {
  let isRunning = false;

  async function* run(from: BackupSource): AsyncGenerator<Bytes, void, void> {
    try {
      yield* writeBackup(engine, host, from);
    } finally {
      isRunning = false;
    }
  }

  return {
    begin() {
      if (source === undefined) {
        const message = "This process cannot read the files that a backup needs";
        return refuse({ kind: "no_room", message });
      }
      if (isRunning) {
        return refuse({ kind: "no_room", message: "Another backup of this deployment is running" });
      }
      isRunning = true;
      return accept(run(source));
    },
    readRestored: () => viewRestored(engine),
    resumeRestored: () => resumeRestored(engine, paused),
  };
}

/** Who has paused the environments of a restored deployment; `GET /_admin/reactions` shows it. */
const PAUSED_BY = "restore";
/** Instances, or environments, in one transaction. */
const AT_A_TIME = 500;

/** Call it before the first start of the restored deployment. */
export async function holdRestored(engine: Engine, mark: RestoredMark): Promise<void> {
  await engine.transact((tx) => Promise.resolve(setRestored(tx, mark)));
  const pause = { state: "paused", since: mark.restored_at, by: PAUSED_BY } as const;
  for (let after: string | undefined, isMore = true; isMore;) {
    const instances = await engine.transact(async (tx) => {
      const page = await listInstances(tx.unguarded, AT_A_TIME, after);
      for (const { tenants } of page) {
        for (const environment of ENVIRONMENTS) {
          const tenant = tenants[environment];
          // What an operator has paused stays paused after the resumption.
          if (await readPause(tx, tenant) === undefined) savePause(tx, tenant, pause);
        }
      }
      return page;
    });
    after = instances.at(-1)?.id;
    isMore = instances.length === AT_A_TIME;
  }
}

/** What an operator wants to know of a restored deployment. */
export interface RestoredView extends Partial<RestoredMark> {
  /** Reactions, deliveries and anchors wait. */
  readonly paused: boolean;
}

async function viewRestored(engine: Engine): Promise<RestoredView> {
  const mark = await engine.snapshot(readRestored);
  return { paused: mark !== undefined, ...mark };
}

/** Lets everything go on. If it is cut off, repeat it. */
async function resumeRestored(engine: Engine, paused: PausedReactions): Promise<void> {
  for (let isMore = true; isMore;) {
    isMore = await engine.transact(async (tx) => {
      const held = [...await listPauses(tx)]
        .filter(([, { state, by }]) => state === "paused" && by === PAUSED_BY);
      for (const [tenant, pause] of held.slice(0, AT_A_TIME)) {
        savePause(tx, tenant, { ...pause, state: "resuming" });
      }
      if (held.length > AT_A_TIME) return true;
      setRestored(tx, undefined);
      return false;
    });
  }
  paused.forget();
  await paused.ready();
}
