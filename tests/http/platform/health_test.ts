/** Golden cases of `src/http/platform/health.ts`: requests and their exact answers. */

import { testGoldenCases } from "../golden_cases.ts";

testGoldenCases("health");
