/** The wire of `src/http/routes/write.ts`, case by case. */

import { testGoldenCases } from "../golden_cases.ts";

testGoldenCases("write");
