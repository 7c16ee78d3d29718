/** Bugs of the core of the client. */

import { changesOf, type Mutation } from "./mutation.ts";

const FOLLOW = "tests/sdk/core/follow_test.ts";
const TRANSPORT = "tests/sdk/core/transport_test.ts";
const UPDATE = "tests/sdk/core/update_test.ts";

export const CLIENT_MUTATIONS: readonly Mutation[] = [
  ...changesOf("sdk/src/core/transport.ts", TRANSPORT, [
    [
      "a write is sent again under another key",
      'headers["x-idempotency-key"] = idempotencyKey;',
      'headers["x-idempotency-key"] = world.newIdempotencyKey();',
    ],
    ["a redirect makes a read of a write", 'redirect: "manual"', 'redirect: "follow"'],
    ["Retry-After is not waited for", "const waitMs = retryAfterMs + ", "const waitMs = "],
    [
      "the timeout ends with the head of an answer",
      "const response = await world.fetch(url, init);",
      "const response = await world.fetch(url, init);\n      cancel();",
    ],
  ]),
  ...changesOf("sdk/src/core/update.ts", UPDATE, [
    [
      "a decision is written whatever the length is now",
      "const written = await write(events, length);",
      "const written = await write(events, undefined as unknown as number);",
    ],
  ]),
  ...changesOf("sdk/src/core/follow.ts", FOLLOW, [
    [
      "a new connection begins where the first one began",
      'query: queryOf("sse"), signal',
      'query: { ...queryOf("sse"), ...source.behind(source.start) }, signal',
    ],
    ["silence is waited out", "isSilent = true;\n            close();", "isSilent = true;"],
  ]),
  ...changesOf("sdk/src/core/iterate.ts", FOLLOW, [
    [
      "return() waits for the next item",
      "      end();\n      await inner.return();",
      "      await inner.return();",
    ],
  ]),
  ...changesOf("sdk/src/core/sse.ts", "tests/sdk/core/sse_test.ts", [
    [
      "a line end that is cut in two is two",
      'isAfterReturn = text.endsWith("\\r");',
      "isAfterReturn = false;",
    ],
    [
      "characters that are cut in two are lost",
      "decoder.decode(bytes, { stream: true })",
      "new TextDecoder().decode(bytes)",
    ],
  ]),
];
