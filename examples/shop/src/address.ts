/**
 * Where the server is, and the key for it: DAYBOOK_URL and DAYBOOK_KEY, or else what `npm run dev`
 * starts on this machine.
 */

const DEVELOPMENT = {
  url: "http://127.0.0.1:8002",
  key: "dbk_0_test_writeForDevelopmentOnlyEverybodyKnowsIt0000",
};

export function address(): { readonly url: string; readonly key: string } {
  const { DAYBOOK_URL: url, DAYBOOK_KEY: key } = process.env;
  if ((url === undefined) !== (key === undefined)) {
    throw new Error("Set both DAYBOOK_URL and DAYBOOK_KEY, or neither");
  }
  return url !== undefined && key !== undefined ? { url, key } : DEVELOPMENT;
}
