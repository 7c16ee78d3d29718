/** The file that leads a browser to the console. */

import assert from "node:assert/strict";
import { leadTo } from "../../src/cli/open_console.ts";

Deno.test("leadTo() leads to the address, and no address can add anything to the page", () => {
  assert.match(
    leadTo("http://127.0.0.1:8002/_console/#token=a.b-c"),
    /url='http:\/\/127\.0\.0\.1:8002\/_console\/#token=a\.b-c'">$/,
  );
  for (const text of [`'"><script>`, `%22'<b`, "\n'>"]) {
    const page = leadTo(`http://127.0.0.1:8002/_console/#token=${text}`);
    const [, url] = /content="0; url='([^']*)'">$/.exec(page)!;
    assert.doesNotMatch(url!, /["<>\s]/);
  }
});
