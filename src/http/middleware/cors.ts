/** Browsers' preflight. Spec: "Conventions", CORS. The origin header is on every answer. */

/** 204 with the three headers; needs no key and asks for no path. */
export function answerPreflight(requestId: string): Response {
  return new Response(null, {
    status: 204,
    headers: {
      "access-control-allow-origin": "*",
      "access-control-allow-methods": "GET, POST, OPTIONS",
      "access-control-allow-headers": "Authorization, Content-Type",
      "x-request-id": requestId,
    },
  });
}
