/** `GET /{type}/{id}/events/{index}/effects`. See docs/reference/pending.md. */

import { testGoldenCases } from "../golden_cases.ts";

testGoldenCases("effects");
