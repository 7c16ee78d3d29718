/** Golden cases of `src/http/routes/write.ts`: requests and their exact answers. */

import { testGoldenCases } from "../golden_cases.ts";

testGoldenCases("write");
