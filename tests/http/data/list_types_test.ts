/** `GET /_types`. See docs/reference/reading.md. */

import { testGoldenCases } from "../golden_cases.ts";

testGoldenCases("list_types");
