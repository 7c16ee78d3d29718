/** The wire of `src/http/failure.ts`, case by case. */

import { testGoldenCases } from "./golden_cases.ts";

testGoldenCases("failure");
