/** The documentation as a site: what is built of the documents, as a browser would load it. */

import assert from "node:assert/strict";
import { brotliCompressSync } from "node:zlib";
import { docsFiles } from "../../scripts/docs/build_site.ts";
import { ERRORS } from "../../src/http/openapi/errors.ts";

const FIRST_VIEW_BYTES_MAX = 100_000;
const BASE = "http://site/";

const files = new Map(await docsFiles());
const pages = new Map(
  [...files].filter(([name]) => name.endsWith(".html"))
    .map(([name, bytes]) => [name, new TextDecoder().decode(bytes)]),
);

/** The values of an attribute of certain elements, as a browser reads them. */
function attributes(html: string, pattern: RegExp): string[] {
  return [...html.matchAll(pattern)].map(([, value]) => value!.replaceAll("&amp;", "&"));
}

/** The file of the site that an address leads to, and the place in it. */
function fileOf(address: string, from: string): { name: string; anchor: string } {
  const { pathname, hash } = new URL(address, BASE + from);
  const name = pathname.slice(1);
  const file = name === "" || name.endsWith("/") ? `${name}index.html` : name;
  return { name: decodeURIComponent(file), anchor: decodeURIComponent(hash.slice(1)) };
}

const LINKS = /<a [^>]*?href="([^"]*)"/g;
const LOADED = /<(?:link|script|img|source|iframe)\b[^>]*? (?:src|href)="([^"]*)"/g;
const IDS = / id="([^"]*)"/g;

Deno.test("every link of the site leads to a page or file of it, and to a heading that is there", () => {
  assert.ok(pages.size > 100, `the pages are found: ${pages.size}`);
  const ids = new Map([...pages].map(([name, html]) => [name, new Set(attributes(html, IDS))]));
  const broken: string[] = [];
  for (const [page, html] of pages) {
    for (const link of attributes(html, LINKS)) {
      if (/^(?:https?|mailto):/.test(link) || link === "#") continue;
      const { name, anchor } = fileOf(link, page);
      const isThere = files.has(name) && (anchor === "" || ids.get(name)?.has(anchor));
      if (!isThere) broken.push(`${page}: ${link}`);
    }
  }
  assert.deepEqual(broken, []);
});

Deno.test("no page loads anything from another origin, or runs or styles anything inline", () => {
  for (const [page, html] of pages) {
    for (const address of attributes(html, LOADED)) {
      assert.ok(!/^(?:[a-z]+:|\/)/i.test(address), `${page} loads ${address}`);
      assert.ok(files.has(fileOf(address, page).name), `${page}: there is no ${address}`);
    }
    assert.doesNotMatch(html, /<script(?![^>]* src=)|<style| style="| on[a-z]+="/, page);
  }
  const styles = new TextDecoder().decode(files.get("docs.css"));
  assert.doesNotMatch(styles, /url\(|@import/);
});

Deno.test("each page is in the list of all pages, which has each once", () => {
  const [, list] = /<nav id="menu"([\s\S]*?)<\/nav>/.exec(pages.get("index.html")!)!;
  const listed = attributes(list!, LINKS).map((link) => fileOf(link, "index.html").name);
  const expected = [...pages.keys()].filter((name) => name !== "index.html");
  assert.deepEqual(listed.toSorted(), expected.toSorted());
});

Deno.test("each page has a title that no other has, and one first heading", () => {
  const titles = new Map<string, string>();
  for (const [page, html] of pages) {
    const [, title] = /<title>(.*?)<\/title>/.exec(html)!;
    assert.equal(titles.get(title!), undefined, `${page} and another have the title ${title}`);
    titles.set(title!, page);
    assert.equal([...html.matchAll(/<h1\b/g)].length, 1, page);
  }
});

Deno.test("each error_type has its page where `docs` of refusals leads, and each page is there as Markdown", () => {
  for (const { schema } of Object.values(ERRORS)) {
    const { error_type: type } = schema.properties as Record<string, Record<string, unknown>>;
    for (const name of (type!.enum ?? [type!.const]) as string[]) {
      assert.ok(pages.has(`errors/${name}.html`), name);
    }
  }
  const index = new TextDecoder().decode(files.get("llms.txt"));
  for (const page of pages.keys()) {
    const markdown = page.replace(/html$/, "md");
    assert.ok(files.has(markdown), markdown);
    if (page !== "index.html" && !page.endsWith("/index.html")) {
      assert.ok(index.includes(`](${markdown})`), `llms.txt names ${markdown}`);
    }
  }
});

Deno.test("the first view of a page is below 100 KB, with all that is loaded to show it", () => {
  const sizes = new Map<string, number>();
  const sizeOf = (name: string) => {
    const known = sizes.get(name) ?? brotliCompressSync(files.get(name)!).length;
    sizes.set(name, known);
    return known;
  };
  // The longest page has the most bytes. Pictures come when they are scrolled to.
  const [longest] = [...pages].filter(([name]) => !name.includes("figures"))
    .sort(([, a], [, b]) => b.length - a.length);
  for (const page of ["index.html", longest![0]]) {
    const html = pages.get(page)!;
    assert.doesNotMatch(html, /<img(?![^>]*loading="lazy")/);
    const loaded = attributes(
      html,
      /<(?:link rel="(?:stylesheet|icon)"|script)[^>]*? (?:src|href)="([^"]*)"/g,
    )
      .map((address) => fileOf(address, page).name);
    for (const name of loaded) {
      const text = new TextDecoder().decode(files.get(name));
      for (const [, imported] of text.matchAll(/(?:from|import)\s*"\.\/([\w.-]+)"/g)) {
        if (!loaded.includes(imported!)) loaded.push(imported!);
      }
    }
    const bytes = [page, ...loaded].reduce((sum, name) => sum + sizeOf(name), 0);
    assert.ok(loaded.length >= 4 && bytes < FIRST_VIEW_BYTES_MAX, `${page}: ${bytes} bytes`);
  }
});
