/** The wire of `src/http/routes/api_keys.ts`, case by case. */

import { testGoldenCases } from "../golden_cases.ts";

testGoldenCases("api_keys");
