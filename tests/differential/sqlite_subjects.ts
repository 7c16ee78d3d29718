/** The embedded engine as subjects: left alone, restarted by the trace, and with faults. */

import { faultyEngine } from "../support/faulty_engine.ts";
import type { HiddenFaults } from "./faults.ts";
import { sqliteStore } from "./sqlite_store.ts";
import type { SubjectOptions } from "./subject.ts";

export async function sqliteSubjects(faults: HiddenFaults): Promise<SubjectOptions[]> {
  return [
    { name: "sqlite, never restarted", store: await sqliteStore(), restarts: false },
    { name: "sqlite, restarted", store: await sqliteStore() },
    {
      name: "sqlite, with faults",
      store: await sqliteStore((engine) => faultyEngine(engine, faults.plan)),
      // Its markers name calls by a count that restarts with each opening.
      restarts: false,
    },
  ];
}
