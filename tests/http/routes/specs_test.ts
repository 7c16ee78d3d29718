/** The wire of `src/http/routes/specs.ts`, case by case. */

import { testGoldenCases } from "../golden_cases.ts";

testGoldenCases("specs");
