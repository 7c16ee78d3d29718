/** Turns a document into a page: its body as HTML, its headings, and its words for the search. */

import { Marked, type Token, type Tokens } from "marked";
import type { Document, Tree } from "./pages.ts";
import { escapeHtml } from "./escape_html.ts";
import { highlight } from "./highlight.ts";
import { requestsOf } from "./requests.ts";

export interface Heading {
  readonly level: number;
  readonly anchor: string;
  readonly text: string;
}

/** What stands below one heading, without that below the headings after it. */
export interface Section {
  readonly anchor: string;
  readonly title: string;
  readonly text: string;
}

export interface Page {
  readonly document: Document;
  readonly title: string;
  /** The first paragraph. */
  readonly description: string;
  readonly html: string;
  readonly headings: readonly Heading[];
  readonly sections: readonly Section[];
}

const DESCRIPTION_CHARACTERS_MAX = 200;

export function makePage(document: Document, tree: Tree): Page {
  const marked = new Marked({ gfm: true });
  const tokens = marked.lexer(document.text);
  const headings = headingsOf(tokens);
  marked.use({ renderer: rendererOf(document, tree, headings) });
  const first = tokens.find((token) => token.type === "paragraph");
  const [title] = headings;
  if (title?.level !== 1) throw new Error(`${document.path} does not begin with a title`);
  return {
    document,
    title: title.text,
    description: shortened(first === undefined ? "" : plainText([first])),
    html: marked.parser(tokens),
    headings,
    sections: sectionsOf(tokens, headings),
  };
}

function rendererOf(document: Document, tree: Tree, headings: readonly Heading[]) {
  let at = 0;
  // deno-lint-ignore no-explicit-any
  type Renderer = { readonly parser: any };
  return {
    heading(this: Renderer, { tokens, depth }: Tokens.Heading): string {
      const { anchor } = headings[at++]!;
      const inner = this.parser.parseInline(tokens);
      if (depth === 1) return `<h1 id="${anchor}">${inner}</h1>\n`;
      const link = `<a class="anchor" href="#${anchor}" aria-label="Link to this section">#</a>`;
      return `<h${depth} id="${anchor}">${inner} ${link}</h${depth}>\n`;
    },
    code({ text, lang }: Tokens.Code): string {
      return codeBlock(text, lang ?? "");
    },
    link(this: Renderer, { href, tokens }: Tokens.Link): string {
      return linkTo(targetOf(href, document, tree), this.parser.parseInline(tokens));
    },
    image({ href, text }: Tokens.Image): string {
      const target = targetOf(href, document, tree);
      return `<img src="${escapeHtml(target ?? href)}" alt="${escapeHtml(text)}" loading="lazy">`;
    },
    table(this: Renderer, { header, rows, align }: Tokens.Table): string {
      const cell = (tag: string, { tokens }: Tokens.TableCell, column: number) => {
        const side = align[column] === "right" ? ' class="number"' : "";
        return `<${tag}${side}>${this.parser.parseInline(tokens)}</${tag}>`;
      };
      const row = (tag: string) => (cells: Tokens.TableCell[]) =>
        `<tr>${cells.map((each, column) => cell(tag, each, column)).join("")}</tr>`;
      const body = rows.map(row("td")).join("\n");
      return `<div class="table" tabindex="0"><table><thead>${row("th")(header)}</thead>\n` +
        `<tbody>${body}</tbody></table></div>\n`;
    },
    list(this: Renderer, list: Tokens.List): string | false {
      return isOwnContents(list)
        ? `<ul class="contents">${
          list.items.map(({ tokens }) => `<li>${this.parser.parse(tokens)}</li>`).join("")
        }</ul>\n`
        : false;
    },
    html({ text, raw }: Tokens.HTML | Tokens.Tag): string {
      // A comment is for who edits the document.
      return /^\s*<!--/.test(text) ? "" : escapeHtml(raw);
    },
  };
}

function codeBlock(text: string, language: string): string {
  const requests = language === "sh" ? requestsOf(text) : [];
  const data = requests.length === 0
    ? ""
    : ` data-requests="${escapeHtml(JSON.stringify(requests))}"`;
  const name = /^\w+/.exec(language)?.[0] ?? "";
  return `<div class="code"${data}><pre tabindex="0"><code>${highlight(text, name)}</code></pre>` +
    "</div>\n";
}

function linkTo(target: string | undefined, inner: string): string {
  // What is in the repository alone has no page.
  if (target === undefined) return `<span class="away">${inner}</span>`;
  const rel = /^https?:/.test(target) ? ' rel="noreferrer"' : "";
  return `<a href="${escapeHtml(target)}"${rel}>${inner}</a>`;
}

/** Where a link of `document` leads to from its page; undefined for what the site does not have. */
function targetOf(href: string, document: Document, tree: Tree): string | undefined {
  if (/^(?:[a-z]+:|#)/.test(href)) return href;
  const { pathname, hash } = new URL(href, `file:///${document.path}`);
  const path = decodeURIComponent(pathname.slice(1));
  const target = tree.documents.find((each) => each.path === path);
  if (target !== undefined) {
    if (target === document) return hash === "" ? "#" : hash;
    return relativeLink(document.address, target.address) + hash;
  }
  if (!tree.pictures.has(path)) return undefined;
  return `${upFrom(document.address)}${pictureAddress(path)}`;
}

/** The way from a page to the first page of the site. */
export function upFrom(address: string): string {
  return "../".repeat(address.split("/").length - 1);
}

/** From one page to another, both without their endings. */
export function relativeLink(from: string, to: string): string {
  const fromFolder = from.slice(0, from.lastIndexOf("/") + 1);
  const isBeside = fromFolder !== "" && to.startsWith(fromFolder);
  const way = isBeside ? to.slice(fromFolder.length) : `${upFrom(from)}${to}`;
  if (way === "index") return "./";
  return way.endsWith("/index") ? way.slice(0, -"index".length) : `${way}.html`;
}

export function pictureAddress(path: string): string {
  return path.replace(/^docs\//, "");
}

function headingsOf(tokens: readonly Token[]): Heading[] {
  const used = new Set<string>();
  return tokens.filter((token) => token.type === "heading").map((token) => {
    const { depth, tokens: inner = [] } = token as Tokens.Heading;
    const text = plainText(inner);
    const base = text.toLowerCase().replaceAll(/[^\p{L}\p{N}_\- ]/gu, "").replaceAll(" ", "-");
    let count = 0;
    while (used.has(count === 0 ? base : `${base}-${count}`)) count++;
    const anchor = count === 0 ? base : `${base}-${count}`;
    used.add(anchor);
    return { level: depth, anchor, text };
  });
}

function sectionsOf(tokens: readonly Token[], headings: readonly Heading[]): Section[] {
  const sections: { anchor: string; title: string; text: string }[] = [];
  for (const token of tokens) {
    if (token.type === "heading") {
      const { anchor, text } = headings[sections.length]!;
      sections.push({ anchor, title: text, text: "" });
    } else if (sections.length > 0) {
      sections.at(-1)!.text += ` ${plainText([token])}`;
    }
  }
  return sections.map((each) => ({ ...each, text: each.text.replaceAll(/\s+/g, " ").trim() }));
}

/** The words of tokens, without what marks them up. */
export function plainText(tokens: readonly Token[]): string {
  return tokens.map((token): string => {
    if (token.type === "table") {
      const { header, rows } = token as Tokens.Table;
      return [header, ...rows].flat().map(({ tokens }) => plainText(tokens)).join(" ");
    }
    if (token.type === "list") {
      return (token as Tokens.List).items.map(({ tokens }) => plainText(tokens)).join(" ");
    }
    if (token.type === "html") return "";
    if ("tokens" in token && token.tokens !== undefined) return plainText(token.tokens);
    return "text" in token ? unescapeHtml(String(token.text)) : token.type === "br" ? " " : "";
  }).join("");
}

/** Whether a list has nothing but links to headings of its own page. */
function isOwnContents({ items }: Tokens.List): boolean {
  return items.every(({ raw }) => {
    const links = [...raw.matchAll(/\]\((#?)/g)];
    const rest = raw.replaceAll(/\[[^\]]*\]\([^)]*\)/g, "").replaceAll(/[-*·\s]/g, "");
    return links.length > 0 && links.every(([, mark]) => mark === "#") && rest.length < 60;
  });
}

function shortened(text: string): string {
  const line = text.replaceAll(/\s+/g, " ").trim();
  if (line.length <= DESCRIPTION_CHARACTERS_MAX) return line;
  const cut = line.slice(0, DESCRIPTION_CHARACTERS_MAX);
  return `${cut.slice(0, cut.lastIndexOf(" "))} …`;
}

function unescapeHtml(text: string): string {
  return text.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&quot;", '"')
    .replaceAll("&#39;", "'").replaceAll("&amp;", "&");
}
