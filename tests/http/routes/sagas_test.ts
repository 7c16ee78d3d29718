/** The wire of `src/http/routes/sagas.ts`, case by case. */

import { testGoldenCases } from "../golden_cases.ts";

testGoldenCases("sagas");
