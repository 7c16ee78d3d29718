/** Golden cases of `src/http/routes/accounts.ts`: requests and their exact answers. */

import { testGoldenCases } from "../golden_cases.ts";

testGoldenCases("accounts");
