/** The golden cases of templates. */

import { testGolden } from "./golden.ts";

testGolden("templates");
