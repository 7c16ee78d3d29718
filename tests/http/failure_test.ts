/** Golden cases of `src/http/failure.ts`: requests and their exact answers. */

import { testGoldenCases } from "./golden_cases.ts";

testGoldenCases("failure");
