/** Golden cases of `src/http/routes/errors.ts`: requests and their exact answers. */

import { testGoldenCases } from "../golden_cases.ts";

testGoldenCases("errors");
