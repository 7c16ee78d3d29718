/** Golden cases of `src/http/operators/specs.ts`: requests and their exact answers. */

import { testGoldenCases } from "../golden_cases.ts";

testGoldenCases("specs");
