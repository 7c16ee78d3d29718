/** What `@daybook/client/admin` exports: the calls of operators. */

export { createAdmin } from "./admin.ts";
export type {
  Admin,
  DeployOptions,
  ErasureRequest,
  ImportAnswer,
  ImportOptions,
  ReactionFilter,
} from "./calls.ts";
export type * from "./answers.ts";
export type { DataCheck } from "./data_check.ts";
export type { AdminOptions, InEnvironment, ListCalls, PageOptions } from "./operator.ts";
