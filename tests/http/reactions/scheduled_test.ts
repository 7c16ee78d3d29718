/** Golden cases of `src/http/reactions/scheduled.ts`: requests and their exact answers. */

import { testGoldenCases } from "../golden_cases.ts";

testGoldenCases("scheduled");
