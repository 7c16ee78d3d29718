/** Takes Markdown files apart for the tests that keep them true: fenced blocks and table rows. */

/** One fenced block, e.g. of the language `json`, and the line on which it opens, from 1. */
export interface FencedBlock {
  readonly language: string;
  readonly text: string;
  readonly line: number;
}

const ROOT = new URL("../../", import.meta.url);
const FENCE = /^```(\w*)\n([\s\S]*?)^```$/gm;
const CELL_BORDER = /(?<!\\)\|/;

/** The text of a file, by its path from the root of the repository. */
export function readText(path: string): string {
  return Deno.readTextFileSync(new URL(path, ROOT));
}

/** The paths of all Markdown files in a folder and in the folders within it, sorted. */
export function markdownFiles(folder: string): string[] {
  const found = [...Deno.readDirSync(new URL(`${folder}/`, ROOT))].flatMap((entry) => {
    const path = `${folder}/${entry.name}`;
    if (entry.isDirectory) return markdownFiles(path);
    return path.endsWith(".md") ? [path] : [];
  });
  return found.sort();
}

/** All fenced blocks, in order. */
export function fencedBlocks(markdown: string): FencedBlock[] {
  return [...markdown.matchAll(FENCE)].map(({ 1: language = "", 2: text = "", index }) => ({
    language,
    text,
    line: markdown.slice(0, index).split("\n").length,
  }));
}

/** What stands between the heading `title` (with its `#`s) and the next one of that level. */
export function sectionOf(markdown: string, title: string): string {
  const begin = markdown.indexOf(`\n${title}\n`);
  if (begin === -1) throw new Error(`there is no section "${title}"`);
  const level = title.indexOf(" ");
  const rest = markdown.slice(begin + 1 + title.length);
  const end = rest.search(new RegExp(`\\n#{1,${level}} `));
  return end === -1 ? title + rest : title + rest.slice(0, end);
}

/** The cells of each row of all tables, headings left out, as written. */
export function tableRows(markdown: string): string[][] {
  const lines = markdown.split("\n");
  return lines
    .filter((line, index) => {
      const isHeading = lines[index + 1]?.startsWith("|--") ?? false;
      return line.startsWith("| ") && !isHeading;
    })
    .map((line) => line.split(CELL_BORDER).slice(1, -1).map((cell) => cell.trim()));
}

/** The text of a cell that is all code, or undefined. */
export function codeOf(cell: string | undefined): string | undefined {
  return /^`([^`]+)`$/.exec(cell ?? "")?.[1];
}
