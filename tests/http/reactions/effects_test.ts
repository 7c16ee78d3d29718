/** `GET /{type}/{id}/events/{index}/effects`. See docs/reference/reactions.md. */

import { testGoldenCases } from "../golden_cases.ts";

testGoldenCases("effects");
