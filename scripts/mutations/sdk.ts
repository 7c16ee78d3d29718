/** Bugs of the client's verifiers, of its calls of operators, and of its scenarios. */

import { changesOf, type Mutation } from "./mutation.ts";

const BUNDLES = "tests/sdk/verify/bundle_test.ts";
const INCLUSION = "tests/sdk/verify/inclusion_test.ts";
const SIGNATURE = "tests/sdk/verify/signature_test.ts";
const WEBHOOKS = "tests/sdk/webhooks/verify_webhook_test.ts";
const OPERATOR = "tests/sdk/admin/operator_test.ts";
const SCENARIO = "tests/sdk/test/scenario_test.ts";

export const SDK_MUTATIONS: readonly Mutation[] = [
  ...changesOf("sdk/src/verify/signature.ts", SIGNATURE, [
    [
      "the client takes a signature under a key of small order",
      "return point.isSmallOrder() ? undefined : point;",
      "return point;",
    ],
    ["the client takes numbers of signatures beyond the order", "|| s >= n", ""],
    [
      "the client compares points, not their encodings",
      "return reached === signature.slice(0, POINT_HEX);",
      "return reached !== undefined && Point.fromHex(reached)" +
      ".subtract(Point.fromHex(signature.slice(0, POINT_HEX), true)).isSmallOrder();",
    ],
    [
      "the client takes whichever key has signed a bundle",
      "const isExpected = keys.includes(public_key);",
      "const isExpected = keys.length > 0;",
      BUNDLES,
    ],
  ]),
  ...changesOf("sdk/src/verify/inclusion.ts", INCLUSION, [
    [
      "the client takes phantom indexes of trees whose count nobody signed",
      "const isPhantom = isSame && !isAlone && valuesDiffer;",
      "const isPhantom = false && valuesDiffer;",
    ],
    [
      "the client takes any node in place of one that a level repeats",
      "need(isSame || !isAlone, step,",
      "need(true, step,",
    ],
    ["the client takes an index beyond the count", "need(index < count,", "need(index <= count,"],
  ]),
  ...changesOf("sdk/src/verify/bundle.ts", BUNDLES, [
    [
      "the client does not compare the event with the stream that was asked for",
      "options.stream === undefined || stream.key === options.stream",
      "options.stream === undefined || stream.key !== undefined",
    ],
    [
      "the client takes a first event that has one before it",
      '(event.index === 0) === (event.prev_hash === "")',
      '(event.index === 0) === (event.prev_hash === "") || event.index === 0',
    ],
  ]),
  ...changesOf("sdk/src/verify/anchor.ts", BUNDLES, [
    [
      "evidence of one environment passes as that of another",
      "found === expected,",
      "found !== undefined,",
    ],
  ]),
  ...changesOf("sdk/src/webhooks/verify_webhook.ts", WEBHOOKS, [
    [
      "a signature is compared up to the length of what was given",
      "at < right.length; at++",
      "at < given.length - 1; at++",
    ],
    [
      "a delivery without its signed time is verified by the header that does not sign it",
      'const isStandard = options.scheme !== "body";',
      'const isStandard = headerIn(headers, "webhook-signature") !== undefined;',
    ],
    [
      "a tolerance that is no number takes deliveries of any age",
      "if (!(age <= tolerance))",
      "if (age > tolerance)",
    ],
    ["deliveries of the future are taken", "if (!(-age <= tolerance))", "if (-age > 1e9)"],
    [
      "an empty secret is one",
      "[options.secret].flat().filter((secret) => secret)",
      "[options.secret].flat()",
    ],
  ]),
  ...changesOf("sdk/src/core/transport.ts", OPERATOR, [
    [
      "a call that must not take place twice is sent again after a lost answer",
      'if (once) return error_type === "rate_limited" || error_type === "unavailable";',
      "",
    ],
    [
      "a page of another origin takes a lost answer for a refusal of the browser",
      '&& !await answers({ "x-idempotency-key": "probe" })',
      "",
      "tests/sdk/core/hints_test.ts",
    ],
  ]),
  ...changesOf("sdk/src/admin/operator.ts", OPERATOR, [
    ["a token is kept beyond its end", "|| now() >= renewAtMs", ""],
  ]),
  ...changesOf("sdk/src/admin/evidence_calls.ts", OPERATOR, [
    [
      "an import that is sent again has another id, and stores its events twice",
      "events(events, { import_id = newId(), ...options } = {}) {",
      "events(events, { import_id, ...options } = {}) {",
    ],
  ]),
  ...changesOf("sdk/src/test/service.ts", SCENARIO, [
    [
      "given events are not checked against their schemas",
      "if (!checked.ok) return checked.refusal;",
      "if (!checked.ok) return { key, type: name, data: (data ?? {}) as JsonObject, metadata: sent };",
    ],
  ]),
  ...changesOf("sdk/src/test/scenario.ts", SCENARIO, [
    [
      "a decision can change the state that the next one is made from",
      "make(structuredClone(state), {",
      "make(state, {",
    ],
    [
      "what was decided is not checked as the server would",
      "accepted(opened(), events);",
      "",
    ],
  ]),
];
