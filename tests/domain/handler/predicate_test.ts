/** The golden cases of predicates. */

import { testGolden } from "./golden.ts";

testGolden("predicates");
