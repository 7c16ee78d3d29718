/** Tells how much JSON is parsed: for tests of what must not be decoded, or not at once. */

/** Calls `note` with the length in characters of each text that is parsed while `body` runs. */
export async function whileParsing(
  note: (characters: number) => void,
  body: () => Promise<unknown>,
): Promise<void> {
  const { parse } = JSON;
  JSON.parse = (text, ...rest) => {
    note(text.length);
    return parse(text, ...rest);
  };
  try {
    await body();
  } finally {
    JSON.parse = parse;
  }
}

/** The length of each text that is parsed while `body` runs, in characters. */
export async function parsedIn(body: () => Promise<unknown>): Promise<number[]> {
  const lengths: number[] = [];
  await whileParsing((characters) => void lengths.push(characters), body);
  return lengths;
}

/** The characters that are parsed while `body` runs, of all texts together. */
export async function charactersParsedIn(body: () => Promise<unknown>): Promise<number> {
  return (await parsedIn(body)).reduce((sum, length) => sum + length, 0);
}
