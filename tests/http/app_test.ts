/** Golden cases of `src/http/app.ts`: requests and their exact answers. */

import { testGoldenCases } from "./golden_cases.ts";

testGoldenCases("access");
