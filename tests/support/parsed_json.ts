/** Tells how much JSON is parsed: for tests of what must not be decoded, or not at once. */

/** The length of each text that is parsed while `body` runs, in characters. */
export async function parsedIn(body: () => Promise<unknown>): Promise<number[]> {
  const { parse } = JSON;
  const lengths: number[] = [];
  JSON.parse = (text, ...rest) => {
    lengths.push(text.length);
    return parse(text, ...rest);
  };
  try {
    await body();
  } finally {
    JSON.parse = parse;
  }
  return lengths;
}

/** The characters that are parsed while `body` runs, of all texts together. */
export async function charactersParsedIn(body: () => Promise<unknown>): Promise<number> {
  return (await parsedIn(body)).reduce((sum, length) => sum + length, 0);
}
