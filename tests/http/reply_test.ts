/** The wire of `src/http/reply.ts`, case by case. */

import { testGoldenCases } from "./golden_cases.ts";

testGoldenCases("refusals");
