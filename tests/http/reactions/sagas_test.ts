/** Golden cases of `src/http/reactions/sagas.ts`: requests and their exact answers. */

import { testGoldenCases } from "../golden_cases.ts";

testGoldenCases("sagas");
