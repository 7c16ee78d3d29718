/** Golden cases of `src/http/data/events.ts`: requests and their exact answers. */

import { testGoldenCases } from "../golden_cases.ts";

testGoldenCases("events");
