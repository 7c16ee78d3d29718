/** The wire of `src/http/app.ts`, case by case. */

import { testGoldenCases } from "./golden_cases.ts";

testGoldenCases("access");
