/** The wire of `src/http/routes/aggregate.ts`, case by case. */

import { testGoldenCases } from "../golden_cases.ts";

testGoldenCases("aggregate");
