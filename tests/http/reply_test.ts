/** Golden cases of `src/http/reply.ts`: requests and their exact answers. */

import { testGoldenCases } from "./golden_cases.ts";

testGoldenCases("refusals");
