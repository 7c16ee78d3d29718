/** Finds sections of the documentation by their words, in the browser. */

import MiniSearch from "minisearch";

/** One row of `search.json`. */
type Row = readonly [page: string, anchor: string, title: string, heading: string, text: string];

export interface Found {
  /** From the first page of the documentation. */
  readonly address: string;
  readonly title: string;
  readonly heading: string;
  readonly excerpt: readonly { readonly text: string; readonly isMatch: boolean }[];
}

export type Search = (asked: string) => readonly Found[];

/** Shorter words are not guessed at, for too many are like them. */
const GUESSED_CHARACTERS_MIN = 5;
const EXCERPT_CHARACTERS = 140;
const BEFORE_CHARACTERS = 40;
const FOUND_MAX = 50;
/** More sections of one page would hide the other pages. */
const SECTIONS_OF_PAGE_MAX = 2;

export async function loadSearch(root: URL): Promise<Search> {
  const response = await fetch(new URL("search.json", root));
  return searchOf(await response.json() as Row[]);
}

export function searchOf(rows: readonly Row[]): Search {
  const index = new MiniSearch({
    idField: "at",
    fields: ["title", "heading", "text"],
    searchOptions: {
      boost: { title: 4, heading: 3 },
      prefix: true,
      fuzzy: (term) => term.length >= GUESSED_CHARACTERS_MIN ? 0.2 : false,
      boostDocument: (at) => isTop(rows[at as number]!) ? 1.5 : 1,
    },
  });
  index.addAll(rows.map(([, , title, heading, text], at) => ({ at, title, heading, text })));
  return (asked) => {
    const all = index.search(asked, { combineWith: "AND" });
    const found = all.length > 0 ? all : index.search(asked);
    const shown = new Map<string, number>();
    return found.filter(({ id }) => {
      const [page] = rows[id as number]!;
      shown.set(page, (shown.get(page) ?? 0) + 1);
      return shown.get(page)! <= SECTIONS_OF_PAGE_MAX;
    }).slice(0, FOUND_MAX).map(({ id, terms }) => describe(rows[id as number]!, terms));
  };
}

/** Whether a row is the beginning of its page. */
function isTop([, , title, heading]: Row): boolean {
  return title === heading;
}

function describe(row: Row, terms: readonly string[]): Found {
  const [page, anchor, title, heading, text] = row;
  const address = isTop(row) ? page || "./" : `${page || "./"}#${anchor}`;
  return { address, title, heading, excerpt: excerptOf(text, terms) };
}

/** The text around the first of the terms, cut into what matches and what does not. */
function excerptOf(text: string, terms: readonly string[]): Found["excerpt"] {
  const words = terms.map((term) => term.replaceAll(/[\\^$.*+?()[\]{}|/]/g, "\\$&"));
  if (words.length === 0) return [];
  const pattern = new RegExp(`(?<![\\p{L}\\p{N}])(${words.join("|")})`, "giu");
  const first = pattern.exec(text)?.index ?? 0;
  const from = first <= BEFORE_CHARACTERS ? 0 : text.indexOf(" ", first - BEFORE_CHARACTERS) + 1;
  const shown = text.slice(from, from + EXCERPT_CHARACTERS);
  const parts = shown.split(pattern).map((part, at) => ({ text: part, isMatch: at % 2 === 1 }));
  const lead = from > 0 ? [{ text: "… ", isMatch: false }] : [];
  const rest = from + EXCERPT_CHARACTERS < text.length ? [{ text: " …", isMatch: false }] : [];
  return [...lead, ...parts, ...rest];
}
