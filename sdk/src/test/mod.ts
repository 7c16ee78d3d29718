/** What `@daybook/client/test` exports: scenarios on the production fold, a server for tests. */

export { ScenarioError } from "./scenario_error.ts";
export { testSpec } from "./scenario.ts";
export type {
  AggregateScenarios,
  Given,
  GivenEvent,
  GivenOptions,
  Outcome,
  RefusalExpected,
  Scenarios,
  When,
} from "./scenario.ts";
export { startDaybook } from "./start_daybook.ts";
export type { DaybookOptions, RunningDaybook } from "./start_daybook.ts";
