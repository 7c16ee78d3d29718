/** The wire of `src/http/routes/nearby.ts`, case by case. */

import { testGoldenCases } from "../golden_cases.ts";

testGoldenCases("nearby");
