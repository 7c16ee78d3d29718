/** Golden cases of `src/http/routes/nearby.ts`: requests and their exact answers. */

import { testGoldenCases } from "../golden_cases.ts";

testGoldenCases("nearby");
