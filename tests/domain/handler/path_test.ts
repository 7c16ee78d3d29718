/** The golden cases of value paths. */

import { testGolden } from "./golden.ts";

testGolden("paths");
