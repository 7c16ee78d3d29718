/** The wire of `src/http/routes/instances.ts`, case by case. */

import { testGoldenCases } from "../golden_cases.ts";

testGoldenCases("instances");
