/** The copy of one environment as this process knows it: its file, its tables, whose turn it is. */

import type { CopiedTable, CopyResult, CopyTask } from "../../sql/copy_messages.ts";
import type { CopyWriter } from "../../sql/copy_writer.ts";
import type { Tenant } from "../../domain/tenant.ts";
import type { Host } from "../../host.ts";
import type { Engine } from "../../kv/engine.ts";

/** What copies are made of. */
export interface CopyWorld {
  readonly engine: Engine;
  readonly host: Host;
  readonly writer: CopyWriter;
}

export interface TenantCopy {
  readonly tenant: Tenant;
  readonly path: string;
  /** By name; undefined while it is not known what is in the file. */
  tables: Map<string, CopiedTable> | undefined;
  ask(task: CopyTask, rows?: unknown): Promise<CopyResult>;
  /** One transaction after the other: `work` begins when all before it have ended. */
  inTurn<T>(work: () => Promise<T>): Promise<T>;
}

export function newTenantCopy(writer: CopyWriter, tenant: Tenant, path: string): TenantCopy {
  let last: Promise<unknown> = Promise.resolve();
  return {
    tenant,
    path,
    tables: undefined,
    ask: (task, rows) => writer.ask({ path, ...task }, rows),
    inTurn(work) {
      const done = last.then(work);
      last = done.catch(() => {});
      return done;
    },
  };
}

/** Whose copy a file is: numbers are given again where a store is made anew. */
export function ownerOf({ instanceId, environment }: Tenant): string {
  return `${instanceId}/${environment}`;
}
