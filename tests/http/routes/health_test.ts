/** The wire of `src/http/routes/health.ts`, case by case. */

import { testGoldenCases } from "../golden_cases.ts";

testGoldenCases("health");
