/** One sentence for each refusal for which the server has none: what to do now. */

const KEY = "Give createClient the API key of this environment as `key`; an operator makes one " +
  "with POST /api/instances/{id}/keys, and a new server writes its first into credentials.json";

/** The rows are tried from the top: the `error_type`, words of the text, and the hint. */
const HINTS: readonly (readonly [type: string, text: RegExp, hint: string])[] = [
  ["unauthorized", /but an operator token/, KEY],
  [
    "unauthorized",
    /expired|operator token/i,
    "Get a new operator token: POST /api/login, or `token` on the server's command line",
  ],
  ["unauthorized", /API key/, `The key is missing, wrong or revoked. ${KEY}`],
  ["unauthorized", /./, KEY],
  ["forbidden", /scope/, `Use a key whose scope is write. ${KEY}`],
  [
    "forbidden",
    /another environment/,
    "The name of the environment is in the key (dbk_0_test_...): use the address that belongs to it, or another key",
  ],
  ["bad_request", /metadata.actor/, "Give createClient an `actor`, or each write its own"],
  [
    "unsupported",
    /./,
    "Check that url is the address of an environment without a further path; otherwise the server is older than this client: update it",
  ],
  ["not_daybook", /redirects/, "Give createClient that address as url"],
  [
    "not_daybook",
    /answers 50[234]/,
    "A proxy answers, but not the server behind it: see whether the server runs",
  ],
  [
    "not_daybook",
    /./,
    "Check url: it is the address of an environment, such as http://127.0.0.1:8002",
  ],
  [
    "cors_refused",
    /./,
    "Start the server with DAYBOOK_CORS_ORIGINS, and this page's origin in it: writes have the header X-Idempotency-Key, which browsers send to no other origin without it",
  ],
  ["timed_out", /./, "Try again later, or give the call a longer timeoutMs"],
  ["unreachable", /./, "Check that the server runs and that url is its address"],
];

export function hintFor(
  { error_type, error }: { readonly error_type: string; readonly error: string },
): string | undefined {
  return HINTS.find(([type, text]) => type === error_type && text.test(error))?.[2];
}
