/** This process's copy of one environment: its file, its tables, and a queue of transactions. */

import type { CopiedTable, CopyResult, CopyTask } from "../../../sql/copy_messages.ts";
import type { CopyWriter } from "../../../sql/copy_writer.ts";
import type { Tenant } from "../../../domain/tenant.ts";
import type { Host } from "../../../host.ts";
import type { Engine } from "../../../kv/engine.ts";

/** The tools from which copies are made. */
export interface CopyWorld {
  readonly engine: Engine;
  readonly host: Host;
  readonly writer: CopyWriter;
}

export interface TenantCopy {
  readonly tenant: Tenant;
  readonly path: string;
  /** By name; undefined while the content of the file is not known. */
  tables: Map<string, CopiedTable> | undefined;
  ask(task: CopyTask, rows?: string): Promise<CopyResult>;
  /** Runs transactions one after the other: `work` begins when all earlier ones have ended. */
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

/**
 * The owner recorded in a copy's file. Tenant numbers start anew when a store is recreated, so
 * the number alone does not identify the owner.
 */
export function ownerOf({ instanceId, environment }: Tenant): string {
  return `${instanceId}/${environment}`;
}
