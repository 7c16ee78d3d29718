/** Golden cases of `src/http/routes/instances.ts`: requests and their exact answers. */

import { testGoldenCases } from "../golden_cases.ts";

testGoldenCases("instances");
