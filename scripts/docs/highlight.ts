/** Marks the words of code while the pages are built, so that a browser runs nothing for it. */

// @ts-types="./highlight_form.ts"
import hljs from "highlight.js/lib/core";
// @ts-types="./highlight_form.ts"
import bash from "highlight.js/lib/languages/bash";
// @ts-types="./highlight_form.ts"
import dockerfile from "highlight.js/lib/languages/dockerfile";
// @ts-types="./highlight_form.ts"
import http from "highlight.js/lib/languages/http";
// @ts-types="./highlight_form.ts"
import ini from "highlight.js/lib/languages/ini";
// @ts-types="./highlight_form.ts"
import javascript from "highlight.js/lib/languages/javascript";
// @ts-types="./highlight_form.ts"
import json from "highlight.js/lib/languages/json";
// @ts-types="./highlight_form.ts"
import python from "highlight.js/lib/languages/python";
// @ts-types="./highlight_form.ts"
import sql from "highlight.js/lib/languages/sql";
// @ts-types="./highlight_form.ts"
import typescript from "highlight.js/lib/languages/typescript";
// @ts-types="./highlight_form.ts"
import yaml from "highlight.js/lib/languages/yaml";
import { escapeHtml } from "./escape_html.ts";

const LANGUAGES = {
  bash,
  dockerfile,
  http,
  ini,
  javascript,
  json,
  python,
  sql,
  typescript,
  yaml,
} as const;
/** By the names that documents give them. */
const NAMES: Readonly<Record<string, keyof typeof LANGUAGES>> = {
  bash: "bash",
  console: "bash",
  dockerfile: "dockerfile",
  http: "http",
  ini: "ini",
  js: "javascript",
  json: "json",
  jsonc: "json",
  python: "python",
  sh: "bash",
  shell: "bash",
  sql: "sql",
  toml: "ini",
  ts: "typescript",
  yaml: "yaml",
  yml: "yaml",
};

for (const [name, language] of Object.entries(LANGUAGES)) hljs.registerLanguage(name, language);

/** `text` as HTML; without marks if its language has none here. */
export function highlight(text: string, language: string): string {
  const name = NAMES[language];
  if (name === undefined) return escapeHtml(text);
  return hljs.highlight(text, { language: name, ignoreIllegals: true }).value;
}
