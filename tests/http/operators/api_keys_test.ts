/** Golden cases of `src/http/operators/api_keys.ts`: requests and their exact answers. */

import { testGoldenCases } from "../golden_cases.ts";

testGoldenCases("api_keys");
