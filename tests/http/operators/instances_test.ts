/** Golden cases of `src/http/operators/instances.ts`: requests and their exact answers. */

import { testGoldenCases } from "../golden_cases.ts";

testGoldenCases("instances");
