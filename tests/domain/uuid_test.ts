/** UUIDs from given bytes. */

import { equal, match } from "node:assert/strict";
import fc from "fast-check";
import { formatUuid } from "../../src/domain/uuid.ts";

Deno.test("formatUuid() gives the version 4 example of RFC 9562, appendix A.3", () => {
  const random = Uint8Array.fromHex("919108f752d133205bacf847db4148a8");
  equal(formatUuid(random), "919108f7-52d1-4320-9bac-f847db4148a8");
});

Deno.test("formatUuid() always gives version 4, variant 8, 9, a or b, in lowercase", () => {
  const form = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
  const bytes = fc.uint8Array({ minLength: 16, maxLength: 16 });
  fc.assert(fc.property(bytes, (random) => match(formatUuid(random), form) === undefined));
});
