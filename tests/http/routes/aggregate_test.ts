/** Golden cases of `src/http/routes/aggregate.ts`: requests and their exact answers. */

import { testGoldenCases } from "../golden_cases.ts";

testGoldenCases("aggregate");
