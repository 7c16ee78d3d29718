/** Draws the map of the sources: each file with the first sentence of its header, by folder. */

import type { Source } from "./source_tree.ts";

const HEADER = /^\/\*\*([\s\S]*?)\*\//;
/** The longest text beside a file name; a longer one is cut at a word. */
const TEXT_COLUMNS_MAX = 96;

/** Lines of Markdown: a heading for each folder, a row for each file. */
export function drawMap(sources: readonly Source[]): string {
  const folders = new Map<string, Source[]>();
  for (const source of sources) {
    const folder = source.path.slice(0, source.path.lastIndexOf("/"));
    folders.set(folder, [...folders.get(folder) ?? [], source]);
  }
  const parts = [...folders].sort(([a], [b]) => a < b ? -1 : 1).map(([folder, files]) => {
    const rows = files.map((file) => `| \`${fileName(file)}\` | ${firstSentence(file.text)} |`);
    return [`### \`${folder}/\``, "", "| File | What it owns |", "|---|---|", ...rows].join("\n");
  });
  return parts.join("\n\n");
}

function fileName({ path }: Source): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

/** The first sentence of the header, without its period; one that is too long is cut at a word. */
export function firstSentence(text: string): string {
  const header = HEADER.exec(text)?.[1] ?? "";
  const prose = header.replace(/\n \*/g, " ").replace(/\s+/g, " ").trim();
  const end = /[.](?= |$)/.exec(prose)?.index ?? prose.length;
  const sentence = prose.slice(0, end).replaceAll("|", "\\|");
  if (sentence.length <= TEXT_COLUMNS_MAX) return sentence;
  return `${
    sentence.slice(0, sentence.lastIndexOf(" ", TEXT_COLUMNS_MAX)).replace(/[,:;]$/, "")
  } …`;
}
