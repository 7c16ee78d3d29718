/** The wire of `src/http/routes/accounts.ts`, case by case. */

import { testGoldenCases } from "../golden_cases.ts";

testGoldenCases("accounts");
