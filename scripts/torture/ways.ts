/**
 * The ways in which a torture run tries to break the product: each is a suite with size and
 * seed.
 */

export interface Way {
  readonly name: string;
  /** The word for one case. */
  readonly unit: string;
  readonly path: string;
  /** Cases in one run, which takes a minute or so. */
  readonly cases: number;
  /** The environment of a run, which is also what repeats it. */
  readonly env: (seed: number, cases: number) => Readonly<Record<string, string>>;
}

/** Passes the seed and the size in these variables. */
function under(seedName: string, casesName: string): Way["env"] {
  return (seed, cases) => ({ [seedName]: `${seed}`, [casesName]: `${cases}` });
}

const fuzz = under("FUZZ_SEED", "FUZZ_CASES");
const crash = under("CRASH_SEED", "CRASH_ROUNDS");

export const WAYS: readonly Way[] = [
  {
    name: "simulation",
    unit: "worlds",
    path: "tests/simulation/simulation_test.ts",
    cases: 2_000,
    env: under("SIMULATION_FIRST", "SIMULATION_SEEDS"),
  },
  {
    name: "histories",
    unit: "histories",
    path: "tests/history/history_test.ts",
    cases: 60,
    env: under("HISTORY_FIRST", "HISTORIES"),
  },
  {
    name: "crashes under writes",
    unit: "kills",
    path: "tests/crash/crash_test.ts",
    cases: 40,
    env: crash,
  },
  {
    name: "crashes under reactions",
    unit: "kills",
    path: "tests/crash/reaction_crash_test.ts",
    cases: 30,
    env: crash,
  },
  {
    name: "crashes under migrations",
    unit: "kills",
    path: "tests/crash/migrate_crash_test.ts",
    cases: 20,
    env: under("MIGRATE_SEED", "MIGRATE_KILLS"),
  },
  {
    name: "crashes under deliveries",
    unit: "kills",
    path: "tests/crash/delivery_crash_test.ts",
    cases: 20,
    env: crash,
  },
  {
    name: "worlds of the feed",
    unit: "worlds",
    path: "tests/simulation/feed_worlds_test.ts",
    cases: 200,
    env: under("FEED_FIRST", "FEED_SEEDS"),
  },
  {
    name: "crashes under readers of the feed",
    unit: "kills",
    path: "tests/crash/feed_crash_test.ts",
    cases: 40,
    env: under("FEED_SEED", "FEED_ROUNDS"),
  },
  {
    name: "crashes under guarded sales",
    unit: "kills",
    path: "tests/crash/guard_crash_test.ts",
    cases: 20,
    env: under("GUARD_SEED", "GUARD_ROUNDS"),
  },
  {
    name: "clock jumps",
    unit: "jumps",
    path: "tests/crash/clock_jump_test.ts",
    cases: 100,
    env: crash,
  },
  {
    name: "power cuts",
    unit: "cuts",
    path: "tests/crash/torn_log_test.ts",
    cases: 30,
    env: crash,
  },
  {
    name: "recorded power cuts",
    unit: "disks",
    path: "tests/power_cut/power_cut_test.ts",
    cases: 400,
    env: under("POWER_CUT_SEED", "POWER_CUTS"),
  },
  {
    name: "hostile requests",
    unit: "requests",
    path: "tests/fuzz/http_fuzz_test.ts",
    cases: 5_000,
    env: fuzz,
  },
  {
    name: "hostile paths",
    unit: "requests",
    path: "tests/fuzz/path_fuzz_test.ts",
    cases: 20_000,
    env: fuzz,
  },
  {
    name: "hostile specs",
    unit: "specs",
    path: "tests/fuzz/spec_fuzz_test.ts",
    cases: 10_000,
    env: fuzz,
  },
  {
    name: "hostile bodies",
    unit: "bodies",
    path: "tests/fuzz/json_fuzz_test.ts",
    cases: 100_000,
    env: fuzz,
  },
  {
    name: "hostile modules",
    unit: "modules",
    path: "tests/wasm/fuzz_test.ts",
    cases: 2_000,
    env: under("WASM_FUZZ_SEED", "WASM_FUZZ_RUNS"),
  },
  {
    name: "changed bundles",
    unit: "bundles",
    path: "tests/domain/audit/mutated_bundles_test.ts",
    cases: 200_000,
    env: under("AUDIT_SEED", "AUDIT_MUTATIONS"),
  },
  {
    name: "engines compared",
    unit: "operations",
    path: "tests/differential/differential_test.ts",
    cases: 4_000,
    env: under("DIFFERENTIAL_SEED", "DIFFERENTIAL_OPERATIONS"),
  },
];
