/** The golden cases of `where`. */

import { testGolden } from "./golden.ts";

testGolden("where");
