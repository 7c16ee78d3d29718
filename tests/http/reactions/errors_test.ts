/** Golden cases of `src/http/reactions/errors.ts`: requests and their exact answers. */

import { testGoldenCases } from "../golden_cases.ts";

testGoldenCases("errors");
