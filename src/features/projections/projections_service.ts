/** Projections: definitions, rows and exports, bound to one engine and one host. */

import {
  deleteProjection,
  type DeployedProjection,
  deployProjection,
  listStatuses,
  showProjection,
} from "./manage_projections.ts";
import { openLines } from "../../domain/fairness/per_name.ts";
import { waitForTurn } from "../../domain/fairness/pieces.ts";
import type { WorkShare } from "../base/share_work.ts";
import { createProjectionBuilder } from "./build_projections.ts";
import { createProjectionKeeper } from "./keep_projections.ts";
import type { Counters } from "../../domain/measures/counters.ts";
import type { JsonObject } from "../../domain/json.ts";
import type { ListPage } from "../../domain/list_page.ts";
import type { ProjectionStatus, RowPage, RowView } from "../../domain/projection/status.ts";
import type { PageRequest } from "../../domain/reading.ts";
import type { Outcome } from "../../domain/refusal.ts";
import type { Tenant } from "../../domain/tenant.ts";
import type { Host } from "../../host.ts";
import { inBackground } from "../../kv/calls.ts";
import type { Engine } from "../../kv/engine.ts";
import type { SpecCache } from "../base/current_spec.ts";
import { type CsvExport, type CsvRequest, exportProjection } from "./export_projection.ts";
import type { AggregateReader } from "../states/read_aggregate.ts";
import { listRows, readRow, type ReadRowRequest } from "./read_rows.ts";
import { openProjectionSets } from "./projection_sets.ts";
import { keys } from "../../store/keys.ts";
import { followVersion } from "../base/follow_version.ts";

export interface ProjectionService {
  deploy(tenant: Tenant, document: JsonObject): Promise<Outcome<DeployedProjection>>;
  remove(tenant: Tenant, name: string): Promise<Outcome<void>>;
  /** One by its name; undefined if there is none. */
  show(tenant: Tenant, name: string): Promise<ProjectionStatus | undefined>;
  /** By name. */
  list(tenant: Tenant, page?: PageRequest): Promise<Outcome<ListPage<ProjectionStatus>>>;
  readRow(tenant: Tenant, request: ReadRowRequest): Promise<Outcome<RowView>>;
  /** `stale`: whether to return the last good rows if the projection is broken. */
  listRows(
    tenant: Tenant,
    name: string,
    page: PageRequest,
    stale?: boolean,
  ): Promise<Outcome<RowPage>>;
  /** Waits up to 2 s for the projection to catch up with everything written before. */
  exportCsv(tenant: Tenant, request: CsvRequest): Promise<Outcome<CsvExport>>;
  /** For workers: brings projections up to date with new commits; returns the number of commits. */
  keepProjections(limit: number, isStopping?: () => boolean): Promise<number>;
  /** For workers: runs one step of each build and of all other stepwise work on projections. */
  buildProjections(isStopping?: () => boolean): Promise<number>;
  /** Calls `wake` when something was written that projections show. Call the result to stop. */
  followCommits(wake: () => void): () => Promise<void>;
  /** Resolves when nothing goes on beside the calls of workers. */
  settle(): Promise<void>;
}

export interface ProjectionParts {
  readonly engine: Engine;
  readonly host: Host;
  readonly specs: SpecCache;
  readonly reader: AggregateReader;
  readonly share: WorkShare;
  readonly counters: Counters;
}

export function createProjections(parts: ProjectionParts): ProjectionService {
  const { engine, host, specs, share } = parts;
  const sets = openProjectionSets(engine, specs, host);
  const working = { ...parts, sets };
  const later = { ...working, engine: inBackground(engine) };
  const keeper = createProjectionKeeper(later, share);
  const builder = createProjectionBuilder(later, share);
  const lines = openLines();
  const changes = openLines();

  /**
   * One change of an environment at a time: each reads all definitions, and of those that commit
   * together all but one begin anew. Each has a turn of the event loop, since most take less than
   * a slice.
   */
  function changeInLine<T>({ number }: Tenant, change: () => Promise<T>): Promise<T> {
    return changes.inLine(String(number), async () => {
      await waitForTurn(host, true);
      return await change();
    });
  }

  return {
    deploy: (tenant, document) =>
      changeInLine(tenant, () => deployProjection(working, tenant, document)),
    remove: (tenant, name) => changeInLine(tenant, () => deleteProjection(working, tenant, name)),
    show: (tenant, name) => showProjection(parts, tenant, name),
    list: (tenant, page = {}) => listStatuses(parts, tenant, page),
    readRow: (tenant, request) => readRow(working, tenant, request),
    listRows: (tenant, name, page, stale) => listRows(working, tenant, { name, page, stale }),
    exportCsv: (tenant, request) => exportProjection({ engine, host }, tenant, request, lines),
    keepProjections: keeper.drain,
    buildProjections: builder.drain,
    followCommits: (wake) => followCommits(engine, host, wake),
    async settle() {
      await Promise.all([keeper.settle(), builder.settle()]);
    },
  };
}

/** Calls `wake` at once and when the commit log has new entries. Call the result to stop. */
function followCommits(engine: Engine, host: Host, wake: () => void): () => Promise<void> {
  return followVersion(engine, host, keys.commitSignal(), wake).close;
}
