/** The golden cases of targets. */

import { testGolden } from "./golden.ts";

testGolden("targets");
