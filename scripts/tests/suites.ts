/** The suites of `deno task test`: the ordinary tests, and the same product on FoundationDB. */

import { testFilesOf } from "../../tests/support/test_files.ts";

export interface Suite {
  readonly name: string;
  /** In the form that `tests/support/test_files.ts` reads. */
  readonly paths: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Sizes of the ordinary run, by environment variable; a variable that is already set wins. */
  readonly sizes?: Readonly<Record<string, string>>;
  /** Whether the suite starts its own cluster, to kill it or to fill it. */
  readonly startsCluster?: boolean;
}

/**
 * Left out of the ordinary run, because only one isolate of a process may load FoundationDB's
 * client.
 */
export const CLUSTER_TESTS: readonly string[] = [
  "tests/cluster/feed_crash_test.ts",
  "tests/cluster/guard_crash_test.ts",
  "tests/cluster/node_crash_test.ts",
  "tests/cluster/outage_test.ts",
  "tests/features/transfer/foundationdb_test.ts",
  "tests/contract/foundationdb_test.ts",
  "tests/contract/nodes_foundationdb_test.ts",
  "tests/differential/foundationdb_test.ts",
  "tests/kv/foundationdb/outage_test.ts",
];

/** Tests that call modules in separate processes, with 100 ms of real time for each call. */
const MODULE_TESTS: readonly string[] = [
  "tests/features/writes/ask_modules_test.ts",
  "tests/features/writes/ask_outside_test.ts",
  "tests/features/imports/import_effects_test.ts",
  "tests/features/writes/judge_writes_test.ts",
  "tests/features/reactions/guarded_reactions_test.ts",
  "tests/features/transfer/blobs_test.ts",
  "tests/features/modules/blobs_test.ts",
  "tests/features/specs/check_data_test.ts",
  "tests/features/states/fold_steps_test.ts",
  "tests/features/writes/write_emission_test.ts",
];

/** Left out of the processes that only compute: these start processes, or need the time of one. */
const COMPUTED_ELSEWHERE: readonly string[] = [
  ...MODULE_TESTS,
  "tests/features/checks",
  "tests/features/projections/sql",
  "tests/features/states/heavy_folds_test.ts",
  "tests/workers/projection_copies_test.ts",
];

/**
 * Tests that compute and listen nowhere, so that they do not disturb each other. Each list runs
 * in its own process, at the same time as everything else.
 */
const COMPUTING_TESTS: readonly (readonly string[])[] = [
  ["tests/features", "tests/differential", "tests/domain", ...leftOut(COMPUTED_ELSEWHERE)],
  [
    "tests/fuzz/json_fuzz_test.ts",
    "tests/fuzz/path_fuzz_test.ts",
    "tests/fuzz/spec_fuzz_test.ts",
    "tests/history",
    "tests/published_failures",
    "tests/http/decode",
    "tests/http/middleware",
    "tests/http/operators",
    "tests/http/parameter_test.ts",
    "tests/http/paths_test.ts",
    "tests/sdk/verify",
    "tests/sdk/webhooks",
    "tests/simulation",
    "tests/store",
    "tests/workers",
    ...leftOut(COMPUTED_ELSEWHERE),
  ],
];

/** Tests that start servers or other processes. Each list runs in its own process. */
const SERVING_TESTS: readonly (readonly string[])[] = [
  [
    "tests/archive",
    "tests/crash",
    "tests/kv",
    "tests/power_cut",
    "tests/siege",
  ],
  ["tests/console"],
  [
    "tests/documentation",
    "tests/durable_streams",
    "tests/examples",
    "tests/http/openapi",
    "tests/readme_test.ts",
    "tests/scripts",
    "tests/sdk",
  ],
];

function leftOut(paths: readonly string[]): string[] {
  return paths.map((path) => `!${path}`);
}

/**
 * Sizes of the ordinary run, by environment variable. Without them, tests that draw their cases
 * try as many as a run of their own can afford.
 */
export const ORDINARY_SIZES: Readonly<Record<string, string>> = {
  AUDIT_MUTATIONS: "5000",
  CRASH_ROUNDS: "6",
  DIFFERENTIAL_OPERATIONS: "1500",
  ERASURE_SHARES: "3",
  FEED_SEEDS: "6",
  FILE_BIT_STRIDE: "11",
  HISTORIES: "6",
  MIGRATE_KILLS: "6",
  NEARBY_QUERIES: "1000",
  ORACLE_RUNS: "150",
  PAGE_KILLS: "5",
  PAGE_LOSSES: "60",
  POWER_CUTS: "35",
  SDK_MUTATIONS: "2000",
  SHAPE_RUNS: "100",
  SIMULATION_SEEDS: "70",
  UPDATE_EFFECTS: "300",
  VIEW_RUNS: "18",
};

/** The tests of every kind but those on a cluster, each once. */
export interface OrdinaryTests {
  /** They start servers or other processes, and have an isolate for each file. */
  readonly serving: readonly (readonly string[])[];
  /** They compute, and leave the processor to the others. */
  readonly computing: readonly (readonly string[])[];
}

/** Each list runs in its own process; the longest come first. */
export async function ordinaryTests(): Promise<OrdinaryTests> {
  const withoutCluster = leftOut(CLUSTER_TESTS);
  const taken = new Set<string>();
  const take = async (paths: readonly string[]) => {
    const files = new Set(await testFilesOf([...paths, ...withoutCluster])).difference(taken);
    for (const file of files) taken.add(file);
    return [...files];
  };
  const takeAll = async (lists: readonly (readonly string[])[]) => {
    const taken: string[][] = [];
    for (const paths of lists) taken.push(await take(paths));
    return taken;
  };
  const computing = await takeAll(COMPUTING_TESTS);
  const named = await takeAll(SERVING_TESTS);
  return { serving: [await take(["tests"]), ...named], computing };
}

/**
 * Tests of what builds on transactions. They are written for SQLite; TEST_STORE runs them again
 * on other engines. Tests with `!` are left out, because they go through every commit of long
 * work, which takes minutes there.
 */
const FEATURE_TESTS = [
  "tests/features",
  ...leftOut([
    "tests/features/audit/build_tree_test.ts",
    "tests/features/audit/collect_changes_test.ts",
    "tests/features/audit/build_tree_test.ts",
    "tests/features/audit/make_anchor_test.ts",
    "tests/features/audit/pace_test.ts",
    "tests/features/audit/tree_memory_test.ts",
    "tests/features/audit/write_chunks_test.ts",
    "tests/features/checks/check_store_test.ts",
    "tests/features/erasure/erasure_faults_test.ts",
    "tests/features/imports/import_events_test.ts",
    "tests/features/limits/share_rate_test.ts",
    "tests/features/projections/sql",
    "tests/features/service_test.ts",
    "tests/features/states/find_nearby_test.ts",
    "tests/features/states/geo_test.ts",
    "tests/features/transfer/export_beside_workers_test.ts",
    "tests/features/transfer/export_environment_test.ts",
    "tests/features/transfer/round_trip_test.ts",
  ]),
];
const HTTP_TESTS = [
  "aggregate",
  "atomic_write",
  "audit",
  "batch_write",
  "erasure",
  "events",
  "idempotency",
  "imports",
  "listeners",
  "listing",
  "plans",
  "projections",
  "reactions",
  "single_write",
].map((name) => `tests/end_to_end/${name}_test.ts`);
/** The pages in a browser; what they are made of is tested without a store. */
const CONSOLE_PAGES = [
  "causal_graph",
  "erasures",
  "home",
  "instances",
  "notebook",
  "projections",
  "proof",
  "reactions",
  "spec",
  "streams",
  "time_travel",
  "workbench",
  "write",
].map((name) => `tests/console/${name}_test.ts`);
const OTHER_TESTS = ["tests/published_failures", "tests/store", "tests/workers"];
const ON_CLUSTER = { TEST_STORE: "foundationdb" };
const IN_MEMORY = { TEST_STORE: "foundationdb_memory" };

/**
 * Suites on a real cluster, each in its own process. The lists run at the same time, because a
 * suite spends most of its time there waiting for the cluster.
 */
export const CLUSTER_SUITES: readonly (readonly Suite[])[] = [
  [
    {
      name: "engine contract",
      paths: ["tests/contract/foundationdb_test.ts", "tests/contract/nodes_foundationdb_test.ts"],
    },
    { name: "store and workers", paths: OTHER_TESTS, env: ON_CLUSTER },
    { name: "histories", paths: ["tests/history/history_test.ts"], env: ON_CLUSTER },
    {
      name: "differential",
      paths: ["tests/differential/foundationdb_test.ts"],
      // An eighth of the test's own default, which takes four minutes.
      sizes: { DIFFERENTIAL_OPERATIONS: "2500" },
    },
  ],
  [{
    name: "features",
    paths: FEATURE_TESTS,
    env: ON_CLUSTER,
    sizes: { VIEW_RUNS: "8", EXPORT_SEEDS: "4" },
  }],
  [
    { name: "HTTP", paths: HTTP_TESTS, env: ON_CLUSTER },
    {
      name: "engine in outages",
      paths: ["tests/kv/foundationdb/outage_test.ts"],
      startsCluster: true,
    },
    {
      name: "node crashes",
      paths: [
        "tests/cluster/node_crash_test.ts",
        "tests/cluster/feed_crash_test.ts",
        "tests/cluster/guard_crash_test.ts",
      ],
      startsCluster: true,
    },
    { name: "cluster outages", paths: ["tests/cluster/outage_test.ts"], startsCluster: true },
    {
      name: "console",
      paths: CONSOLE_PAGES,
      env: { CONSOLE_TEST_STORE: "foundationdb" },
      startsCluster: true,
    },
  ],
];

/** Suites for machines without a cluster: the real engine with a client in memory. */
export const MEMORY_SUITES: readonly (readonly Suite[])[] = [
  [
    {
      name: "service and HTTP, FoundationDB in memory",
      paths: [...FEATURE_TESTS, ...OTHER_TESTS, ...HTTP_TESTS],
      env: IN_MEMORY,
      // The ordinary run has tried all of them on the embedded engine.
      sizes: { VIEW_RUNS: "15", EXPORT_SEEDS: "3" },
    },
  ],
];
