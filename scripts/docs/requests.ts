/**
 * Finds the requests in a block of shell: those that a reader can send to the server that serves
 * the page. What it does not understand, it leaves out.
 */

import type { ExampleRequest } from "../../console/src/docs/example_request.ts";

/** Options of curl that change how it prints, not what it sends. */
const SILENT = new Set(["-s", "-i", "-S", "-f", "-sS", "-si", "-N", "-sN", "-sf", "--compressed"]);
/** The same, with a value. */
const SILENT_WITH_VALUE = new Set(["-o", "-w", "-D", "--max-time", "-m"]);
/** What a shell would replace, beside plain variables. */
const COMPUTED = /\$\(|`|\$\{/;
const SHELL_ENDS = new Set(["|", ";", "&&", "||", "\n", ">", "&"]);

export function requestsOf(shell: string): ExampleRequest[] {
  const found: ExampleRequest[] = [];
  const words = wordsOf(shell);
  for (let at = 0; at < words.length; at++) {
    const isStart = at === 0 || SHELL_ENDS.has(words[at - 1]!);
    if (words[at] !== "curl" || !isStart) continue;
    let end = at + 1;
    while (end < words.length && !SHELL_ENDS.has(words[end]!)) end++;
    const request = readCurl(words.slice(at + 1, end));
    if (request !== undefined) found.push(request);
    at = end;
  }
  return found;
}

function readCurl(words: readonly string[]): ExampleRequest | undefined {
  const headers: Record<string, string> = {};
  let method: string | undefined;
  let path: string | undefined;
  let body: string | undefined;
  let credential: ExampleRequest["credential"] = "none";
  for (let at = 0; at < words.length; at++) {
    const word = words[at]!;
    if (SILENT.has(word)) continue;
    if (SILENT_WITH_VALUE.has(word)) at++;
    else if (word === "-X") method = words[++at];
    else if (word === "-d" || word === "--data-binary" || word === "--data") body = words[++at];
    else if (word === "-H") {
      const [, name, value] = /^([\w-]+):\s*(.*)$/.exec(words[++at] ?? "") ?? [];
      if (name === undefined) return undefined;
      if (name.toLowerCase() !== "authorization") headers[name] = value!;
      else if (value === "Bearer $KEY") credential = "key";
      else if (value === "Bearer $TOKEN") credential = "operator";
      else return undefined;
    } else if (word.startsWith("$BASE/") && path === undefined) path = word.slice("$BASE".length);
    else return undefined;
  }
  if (path === undefined || body?.startsWith("@")) return undefined;
  if (COMPUTED.test(path) || COMPUTED.test(body ?? "")) return undefined;
  method ??= body === undefined ? "GET" : "POST";
  return { method, path, credential, headers, ...(body !== undefined && { body }) };
}

/** The words of a shell's text, with quotes removed; ends of commands are words of their own. */
function wordsOf(shell: string): string[] {
  const words: string[] = [];
  let word: string | undefined;
  const end = () => {
    if (word !== undefined) words.push(word);
    word = undefined;
  };
  const part =
    /\\\n|'([^']*)'|"((?:\\.|[^"\\])*)"|\\(.)|#[^\n]*|(&&|\|\||[|;\n>&])|(\s+)|([^\s'"\\|;&>]+)/gs;
  for (const [all, single, double, escaped, operator, space, plain] of shell.matchAll(part)) {
    if (all === "\\\n" || space !== undefined && !space.includes("\n")) end();
    else if (operator !== undefined || space !== undefined) {
      end();
      words.push(operator ?? "\n");
    } else if (all.startsWith("#") && word === undefined) continue;
    else {word = (word ?? "") +
        (single ?? double?.replaceAll(/\\(["\\$])/g, "$1") ?? escaped ?? plain ?? all);}
  }
  end();
  return words;
}
