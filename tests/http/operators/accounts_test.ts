/** Golden cases of `src/http/operators/accounts.ts`: requests and their exact answers. */

import { testGoldenCases } from "../golden_cases.ts";

testGoldenCases("accounts");
