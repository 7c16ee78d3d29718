/**
 * Makes `verify.html`: code and styles in one file, which works from a disk. Its policy names both
 * by their hashes and allows nothing else, so it can neither load nor send anything.
 */

/** The styles that the file needs, of `console/styles`. */
export const VERIFIER_STYLES = [
  "1_tokens.css",
  "2_elements.css",
  "4_parts.css",
  "5_proof.css",
  "6_verifier.css",
] as const;

/** What would end the element around the code or the styles, or hide what follows. */
const BREAKS_OUT = /<\/(?:script|style)|<!--/i;

export async function verifyFile(code: string, styles: string): Promise<string> {
  if (BREAKS_OUT.test(code) || BREAKS_OUT.test(styles)) {
    throw new Error("verify.html: code or styles have what ends the element around them");
  }
  const policy = [
    "default-src 'none'",
    `script-src '${await sourceHash(code)}'`,
    `style-src '${await sourceHash(styles)}'`,
    "base-uri 'none'",
    "form-action 'none'",
  ].join("; ");
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta http-equiv="Content-Security-Policy" content="${policy}">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="color-scheme" content="light dark">
    <meta name="referrer" content="no-referrer">
    <title>Verify evidence of Daybook</title>
    <style>${styles}</style>
  </head>
  <body>
    <div id="app"></div>
    <noscript>Verifying needs JavaScript, which is off.</noscript>
    <script type="module">${code}</script>
  </body>
</html>
`;
}

/** As a policy names what stands inline. */
async function sourceHash(text: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return `sha256-${new Uint8Array(digest).toBase64()}`;
}
