/** The wire of `src/http/paths.ts`, case by case. */

import { testGoldenCases } from "./golden_cases.ts";

testGoldenCases("paths");
