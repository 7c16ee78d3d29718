/**
 * Reads a spec from a file: JSON, JSON with comments, or a module that exports one. A module runs
 * in a process of its own, in its own folder, so that it sees the imports of its own project.
 */

import {
  findNodeAtLocation,
  getNodeValue,
  type ParseError,
  parseTree,
  printParseErrorCode,
} from "jsonc-parser";
import { isJsonObject, type JsonObject, type JsonValue } from "../../domain/json.ts";
import { stepsOf } from "../../domain/spec/fault_list.ts";
import { reasonOf } from "../terminal/settings.ts";
import { parseJson } from "../../domain/json_text/parse_json.ts";

export interface SpecFile {
  readonly path: string;
  readonly spec: JsonObject;
  /** `file:line:column` of a place as violations name it; undefined where it has none. */
  readonly locate: (place: string) => string | undefined;
}

export type ReadSpec =
  | { readonly ok: true; readonly file: SpecFile }
  | { readonly ok: false; readonly error: string; readonly hint?: string };

const MODULE = /\.[cm]?[jt]sx?$/;
/** Marks the line with the spec among what a module may print itself. */
const MARK = "daybook-spec:";

export async function readSpecFile(path: string): Promise<ReadSpec> {
  if (MODULE.test(path)) return await readModule(path);
  let text: string;
  try {
    text = await Deno.readTextFile(path);
  } catch (error) {
    const isMissing = error instanceof Deno.errors.NotFound;
    return { ok: false, error: isMissing ? `There is no file ${path}.` : reasonOf(error) };
  }
  return parseSpecText(path, text);
}

/** The spec in a text of JSON, with or without comments and trailing commas. */
export function parseSpecText(path: string, text: string): ReadSpec {
  const errors: ParseError[] = [];
  const tree = parseTree(text, errors, { allowTrailingComma: true });
  const [first] = errors;
  if (tree === undefined || first !== undefined) {
    const place = positionAt(text, first?.offset ?? 0);
    const what = first === undefined ? "the file is empty" : printParseErrorCode(first.error);
    return { ok: false, error: `${path}:${place}: this is not JSON: ${spaced(what)}` };
  }
  const value = getNodeValue(tree);
  // The body of the API has the spec in an envelope, and people keep such files.
  const isWrapped = isJsonObject(value) && isJsonObject(value.spec) &&
    value.aggregate_types === undefined;
  const start = isWrapped ? ["spec"] : [];
  const spec = isWrapped ? value.spec : value;
  if (!isJsonObject(spec)) return { ok: false, error: `${path}: a spec is an object.` };
  const locate = (place: string) => {
    for (const steps = [...start, ...stepsOf(place)]; steps.length > 0; steps.pop()) {
      const node = findNodeAtLocation(tree, steps);
      if (node !== undefined) return `${path}:${positionAt(text, node.offset)}`;
    }
  };
  return { ok: true, file: { path, spec: spec as JsonObject, locate } };
}

/** `InvalidCommentToken` gives `invalid comment token`. */
function spaced(name: string): string {
  return name.replace(/(?<=.)([A-Z])/g, " $1").toLowerCase();
}

function positionAt(text: string, offset: number): string {
  const before = text.slice(0, offset);
  const line = before.split("\n").length;
  return `${line}:${offset - before.lastIndexOf("\n")}`;
}

/** What {@link LOADER} says of a module. */
interface Loaded {
  readonly spec?: JsonValue;
  /** The names of what the file exports. */
  readonly exports: readonly string[];
  /** How many of them are specs. */
  readonly count: number;
}

/**
 * Runs in the module's folder: a default export, one named `spec`, or the only one that looks like
 * a spec.
 */
const LOADER = `
const module = await import(Deno.args[0]);
const looks = (v) => typeof v === "object" && v !== null && "aggregate_types" in v;
const found = looks(module.default) ? module.default : looks(module.spec) ? module.spec
  : Object.values(module).filter(looks);
const list = Array.isArray(found) ? found : [found];
const answer = list.length === 1 ? { spec: list[0] } : { exports: Object.keys(module), count: list.length };
console.log("\\n" + ${JSON.stringify(MARK)} + JSON.stringify(answer));
`;

async function readModule(path: string): Promise<ReadSpec> {
  try {
    path = await Deno.realPath(path);
  } catch {
    return { ok: false, error: `There is no file ${path}.` };
  }
  const folder = path.slice(0, Math.max(path.lastIndexOf("/"), path.lastIndexOf("\\")));
  const child = new Deno.Command(denoProgram(), {
    // It may read, and it may know the environment, as a build may; it can neither write nor call.
    args: ["run", "-q", "--no-prompt", "--allow-read", "--allow-env", "-", fileUrl(path)],
    cwd: folder,
    // The npm package of this program runs it without a package.json; the spec's own one holds.
    env: { DENO_NO_PACKAGE_JSON: "0", NO_COLOR: "1" },
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const writer = child.stdin.getWriter();
  await writer.write(new TextEncoder().encode(LOADER));
  await writer.close();
  const { stdout, stderr } = await child.output();
  const line = new TextDecoder().decode(stdout).split("\n").find((text) => text.startsWith(MARK));
  if (line === undefined) {
    const hint = new TextDecoder().decode(stderr).trim();
    return { ok: false, error: `${path} cannot be run.`, ...(hint !== "" && { hint }) };
  }
  const answer = parseJson<Loaded>(line.slice(MARK.length));
  if (isJsonObject(answer.spec)) {
    return { ok: true, file: { path, spec: answer.spec, locate: () => undefined } };
  }
  const names = answer.exports.join(", ") || "nothing";
  return {
    ok: false,
    error: answer.count > 1
      ? `${path} exports several specs (${names}).`
      : `${path} exports no spec (it exports ${names}).`,
    hint: "Export it by default, or by the name spec: export const spec = defineSpec({ ... })",
  };
}

/** This runtime's own program, or, where only the name is allowed, the one in the search path. */
export function denoProgram(): string {
  const command = Deno.execPath();
  const { state } = Deno.permissions.querySync({ name: "run", command });
  return state === "granted" ? command : "deno";
}

function fileUrl(path: string): string {
  const slashed = path.replaceAll("\\", "/");
  const url = new URL("file:///");
  url.pathname = slashed.startsWith("/") ? slashed : `/${slashed}`;
  return url.href;
}
