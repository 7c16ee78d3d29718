/** The lists of pages: beside every page, on the first page of a part, and in `llms.txt`. */

import { type Document, partOf, PARTS } from "./pages.ts";
import { escapeHtml } from "./escape_html.ts";
import { type Page, relativeLink } from "./page.ts";

export function navigation(pages: readonly Page[], current: string): string {
  const here = partOf(current);
  const lists = PARTS.map((part) => {
    const within = pagesOf(part.folder, pages);
    if (within.length === 0) return "";
    const item = (address: string, title: string) => {
      const mark = address === current ? ' aria-current="page"' : "";
      return `<li><a href="${relativeLink(current, address)}"${mark}>${escapeHtml(title)}</a></li>`;
    };
    const items = [item(`${part.folder}/index`, "Overview")];
    for (const [folder, pages] of Map.groupBy(within, ({ document }) => folderOf(document))) {
      const links = pages.map(({ document: { address }, title }) =>
        item(address, shortTitle(title))
      );
      if (folder === undefined) items.push(...links);
      else {
        const isOpen = pages.some(({ document }) => document.address === current);
        items.push(
          `<li><details${isOpen ? " open" : ""}><summary>${folder}</summary>\n` +
            `<ul>${links.join("\n")}</ul></details></li>`,
        );
      }
    }
    return `<details${part === here ? " open" : ""}><summary>${part.title}</summary>\n` +
      `<ul>${items.join("\n")}</ul></details>`;
  });
  return lists.filter((list) => list !== "").join("\n");
}

/** The first page of each part, where no document is it. It lists those of `pages`. */
export function partDocuments(
  documents: readonly Document[],
  pages: readonly Page[] = [],
): Document[] {
  return PARTS.flatMap(({ folder, title, about }) => {
    const address = `${folder}/index`;
    const isEmpty = !documents.some((each) => partOf(each.address)?.folder === folder);
    if (isEmpty || documents.some((each) => each.address === address)) return [];
    const within = pagesOf(folder, pages);
    const rows = within.map(({ document: { path }, title, description }) =>
      `- [${title.replaceAll(/[[\]]/g, "\\$&")}](/${path}): ${
        description.replaceAll(/[<*_[\]]/g, "\\$&")
      }`
    );
    const text = `# ${title}\n\n${about}.\n\n${rows.join("\n")}\n`;
    return [{ path: `docs/${folder}/README.md`, address, text }];
  });
}

/** An index of all pages for programs that read: https://llmstxt.org. */
export function llmsText(pages: readonly Page[]): string {
  const lines = [
    "# Daybook",
    "",
    "> An event-sourced backend that one runs oneself: aggregates, events and their JSON Schemas " +
    "are declared in one document; clients write events and read states over HTTP.",
    "",
    "Each page is also there as Markdown, at the addresses below.",
  ];
  for (const { folder, title } of PARTS) {
    const within = pagesOf(folder, pages);
    if (within.length === 0) continue;
    lines.push("", `## ${title}`, "");
    for (const { document: { address }, title, description } of within) {
      lines.push(`- [${title}](${address}.md): ${description}`);
    }
  }
  return `${lines.join("\n")}\n`;
}

/** `Runbooks` of a page in such a folder of its part; undefined for one beside it. */
function folderOf({ address }: Document): string | undefined {
  const [, folder, page] = address.split("/");
  return page === undefined ? undefined : `${folder![0]!.toUpperCase()}${folder!.slice(1)}`;
}

/** Without what the name of the part says already. */
function shortTitle(title: string): string {
  const short = title.replace(/^(?:Tutorial: |Guide: |How to )/, "");
  return short === title ? title : `${short[0]!.toUpperCase()}${short.slice(1)}`;
}

/** The pages of a part without its first one. */
function pagesOf(folder: string, pages: readonly Page[]): Page[] {
  return pages.filter(({ document: { address } }) =>
    partOf(address)?.folder === folder && !address.endsWith("/index")
  );
}
