/** Golden cases of `src/http/routes/health.ts`: requests and their exact answers. */

import { testGoldenCases } from "../golden_cases.ts";

testGoldenCases("health");
