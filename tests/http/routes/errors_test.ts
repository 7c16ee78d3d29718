/** The wire of `src/http/routes/errors.ts`, case by case. */

import { testGoldenCases } from "../golden_cases.ts";

testGoldenCases("errors");
