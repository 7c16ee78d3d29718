/** What stands around the body of every page. */

import { navigation } from "./navigation.ts";
import { escapeHtml } from "./escape_html.ts";
import { type Heading, type Page, relativeLink, upFrom } from "./page.ts";
import { partOf } from "./pages.ts";

const SITE = "Daybook";

/** The whole page `pages[at]`, as HTML. */
export function pageHtml(pages: readonly Page[], at: number): string {
  const page = pages[at]!;
  const { address } = page.document;
  const up = upFrom(address);
  const file = address.slice(address.lastIndexOf("/") + 1);
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escapeHtml(titleOf(page))}</title>
<meta name="description" content="${escapeHtml(page.description)}">
<link rel="icon" href="${up}icon.svg">
<link rel="alternate" type="text/markdown" href="${file}.md">
<link rel="stylesheet" href="${up}docs.css">
<script src="${up}theme.js"></script>
<script src="${up}docs.js" type="module" data-up="${up}"></script>
</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
<header class="top">
<a class="brand" href="${
    relativeLink(address, "index")
  }">${SITE}</a><span class="quiet">Documentation</span>
<a class="menu-link" href="#menu">Menu</a>
<search class="search" hidden></search>
</header>
<div class="frame">
<nav id="menu" class="menu" aria-label="All pages">
${navigation(pages, address)}
</nav>
<main id="content">
${breadcrumb(page)}
<article>
${page.html}</article>
${neighbours(pages, at)}
<p class="end quiet"><a href="${file}.md">This page as Markdown</a></p>
</main>
${contents(page.headings)}
</div>
</body>
</html>
`;
}

export function titleOf({ title, document: { address } }: Page): string {
  const part = partOf(address);
  const names = [title, part?.title, SITE].filter((name, at, all) => all.indexOf(name) === at);
  return names.filter((name) => name !== undefined).join(" · ");
}

function breadcrumb({ document: { address } }: Page): string {
  const part = partOf(address);
  if (part === undefined || address === `${part.folder}/index`) return "";
  const link = relativeLink(address, `${part.folder}/index`);
  return `<p class="breadcrumb"><a href="${link}">${part.title}</a></p>`;
}

function neighbours(pages: readonly Page[], at: number): string {
  const here = pages[at]!.document.address;
  const link = (page: Page | undefined, rel: "prev" | "next") =>
    page === undefined
      ? "<span></span>"
      : `<a rel="${rel}" href="${relativeLink(here, page.document.address)}">` +
        `<small>${rel === "prev" ? "Previous" : "Next"}</small>${escapeHtml(page.title)}</a>`;
  const links = `${link(pages[at - 1], "prev")}${link(pages[at + 1], "next")}`;
  return `<nav class="neighbours" aria-label="Pages before and after">${links}</nav>`;
}

/** The headings of the page beside it, if there are enough to need them. */
function contents(headings: readonly Heading[]): string {
  const shown = headings.filter(({ level }) => level === 2 || level === 3);
  if (shown.length < 2) return "";
  const items = shown.map(({ level, anchor, text }) =>
    `<li class="level-${level}"><a href="#${anchor}">${escapeHtml(text)}</a></li>`
  );
  return `<aside class="on-page" aria-label="On this page"><h2>On this page</h2>\n` +
    `<ul>${items.join("\n")}</ul></aside>`;
}
