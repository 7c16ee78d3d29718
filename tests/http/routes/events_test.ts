/** The wire of `src/http/routes/events.ts`, case by case. */

import { testGoldenCases } from "../golden_cases.ts";

testGoldenCases("events");
