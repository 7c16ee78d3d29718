/** The comments of a source file, as prose: without their marks, lines joined by spaces. */

import ts from "typescript";
import type { Source } from "./source_tree.ts";

/** Text on one line, of which it is known where each part of it stood in its file. */
export interface Prose {
  readonly text: string;
  /** The line (from 1) of the file on which the character at `position` stood. */
  lineAt(position: number): number;
}

/** All of a file, in order; lines that begin with `//` and follow each other are one comment. */
export function commentsOf(source: Source): Prose[] {
  const comments: Prose[] = [];
  let lines: string[] = [];
  let firstLine = 0;

  function finish(): void {
    if (lines.length > 0) comments.push(joinLines(lines, firstLine));
    lines = [];
  }

  for (const { pos, end, kind } of commentRanges(source)) {
    const line = source.tree.getLineAndCharacterOfPosition(pos).line + 1;
    const text = source.text.slice(pos, end);
    const isSingle = kind === ts.SyntaxKind.SingleLineCommentTrivia;
    if (!isSingle || line !== firstLine + lines.length) finish();
    if (lines.length === 0) firstLine = line;
    lines.push(...(isSingle ? [text.slice(2)] : text.slice(2, -2).split("\n").map(withoutStar)));
    if (!isSingle) finish();
  }
  finish();
  return comments;
}

/** Joins lines, the first of which is line `first` of a file; white space becomes one space. */
export function joinLines(lines: readonly string[], first: number): Prose {
  const starts: number[] = [];
  let text = "";
  for (const line of lines) {
    starts.push(text.length);
    const words = line.replace(/\s+/g, " ").trim();
    if (words !== "") text += `${words} `;
  }
  return {
    text: text.trimEnd(),
    lineAt: (position) => first + starts.findLastIndex((start) => start <= position),
  };
}

function withoutStar(line: string): string {
  return line.replace(/^\s*\*+/, "");
}

/** In the order of the file, each once. Comments are beside tokens, which only children have. */
function commentRanges({ text, tree }: Source): ts.CommentRange[] {
  const ranges = new Map<number, ts.CommentRange>();
  const add = (range: ts.CommentRange) => void ranges.set(range.pos, range);

  function visit(node: ts.Node): void {
    const children = node.getChildren(tree);
    if (children.length > 0) return children.forEach(visit);
    ts.getLeadingCommentRanges(text, node.getFullStart())?.forEach(add);
    ts.getTrailingCommentRanges(text, node.getEnd())?.forEach(add);
  }

  visit(tree);
  return [...ranges.values()].sort((a, b) => a.pos - b.pos);
}
