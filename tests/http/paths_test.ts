/** Golden cases of `src/http/paths.ts`: requests and their exact answers. */

import { testGoldenCases } from "./golden_cases.ts";

testGoldenCases("paths");
