/** What the checks look at in a Markdown file: headings, links, code within lines, and prose. */

export interface Located {
  readonly line: number;
  readonly text: string;
}

/** Lines with their numbers; those of fenced blocks are empty. */
function proseLines(markdown: string): string[] {
  let fence: string | undefined;
  return markdown.split("\n").map((line) => {
    const [, mark] = /^\s*(```+|~~~+)/.exec(line) ?? [];
    if (mark === undefined) return fence === undefined ? line : "";
    if (fence === undefined) fence = mark;
    else if (mark.startsWith(fence)) fence = undefined;
    return "";
  });
}

/** The headings, as they are read: without marks of code and of links. */
export function headingsOf(markdown: string): string[] {
  return proseLines(markdown).flatMap((line) => {
    const [, title] = /^#{1,6} +(.*?) *#*$/.exec(line) ?? [];
    return title === undefined ? [] : [plainHeading(title)];
  });
}

export function plainHeading(title: string): string {
  return title.replace(/\[([^\]]*)\]\([^)]*\)/g, "$1").replaceAll("`", "").replace(/\s+/g, " ")
    .trim();
}

/** The anchors of a file's headings, as repositories on the web make them. */
export function anchorsOf(markdown: string): Set<string> {
  const anchors = new Set<string>();
  for (const title of headingsOf(markdown)) {
    const plain = title.toLowerCase().replace(/[^\p{L}\p{N}_\- ]/gu, "").replaceAll(" ", "-");
    let anchor = plain;
    for (let number = 1; anchors.has(anchor); number++) anchor = `${plain}-${number}`;
    anchors.add(anchor);
  }
  return anchors;
}

/** Targets of links that lead to no other site. */
export function linksOf(markdown: string): Located[] {
  return proseLines(markdown).flatMap((line, index) => {
    const plain = line.replace(/`[^`]*`/g, (code) => " ".repeat(code.length));
    const targets = [...plain.matchAll(/\]\(([^)\s]+)\)/g)].map(([, target]) => target!);
    return targets.filter((target) => !/^[a-z]+:/.test(target))
      .map((text) => ({ line: index + 1, text }));
  });
}

/** What stands between backticks within a line. */
export function codeOf(markdown: string): Located[] {
  return proseLines(markdown).flatMap((line, index) =>
    [...line.matchAll(/`([^`]+)`/g)].map(([, text]) => ({ line: index + 1, text: text! }))
  );
}
