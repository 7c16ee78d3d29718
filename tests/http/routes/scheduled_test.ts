/** The wire of `src/http/routes/scheduled.ts`, case by case. */

import { testGoldenCases } from "../golden_cases.ts";

testGoldenCases("scheduled");
