/**
 * The rules for packages: each must be pinned, locked, used, and given a reason.
 *
 * Pinned means one exact version; locked means by a hash of its bytes; the reason stands in the
 * `ARCHITECTURE.md`. A package for tests only must not reach the product.
 */

import { importsOf } from "./imports.ts";
import type { Fault, Source } from "./source_tree.ts";

/** The files that describe the packages. */
export interface Manifest {
  /** `deno.json`: name to specifier. */
  readonly imports: Readonly<Record<string, string>>;
  /** `deno.lock`. */
  readonly lock: {
    readonly specifiers: Readonly<Record<string, string>>;
    readonly npm: Readonly<Record<string, { readonly integrity?: string }>>;
  };
  /** `ARCHITECTURE.md`. */
  readonly architecture: string;
}

const PINNED = /^npm:(?:@[\w.-]+\/)?[\w.-]+@\d+\.\d+\.\d+(?:-[\w.]+)?(?:\/[\w./-]+)?$/;
const INTEGRITY = /^sha512-[A-Za-z0-9+/]{86}==$/;
/** Where the reasons are. */
export const ARCHITECTURE = "ARCHITECTURE.md";
const SECTION = "## Dependencies";
const NOT_SHIPPED = /^(?:tests|scripts|bench|tests and bench) only\b/;

interface Reason {
  readonly line: number;
  readonly text: string;
}

export function checkDependencies(
  { imports, lock, architecture }: Manifest,
  sources: readonly Source[],
): Fault[] {
  const reasons = reasonsOf(architecture);
  const uses = usesOf(imports, sources);
  const faults: Fault[] = [];
  for (const [name, specifier] of Object.entries(imports)) {
    const tell = (rule: string, message: string) =>
      faults.push({ path: "deno.json", line: 1, rule, message: `${name}: ${message}` });
    if (!PINNED.test(specifier)) tell("pinned", `'${specifier}' is not one exact version of npm`);
    else if (lock.specifiers[withoutPath(specifier)] === undefined) {
      tell("locked", "is not in deno.lock. Run: deno install");
    }
    if (!uses.has(name)) tell("used", "nothing imports it");
    if (!reasons.has(name)) tell("reason", `${ARCHITECTURE} does not say why, under '${SECTION}'`);
  }
  return [...faults, ...lockFaults(lock), ...reasonFaults(imports, reasons, uses)];
}

function lockFaults(lock: Manifest["lock"]): Fault[] {
  return Object.entries(lock.npm)
    .filter(([, { integrity }]) => !INTEGRITY.test(integrity ?? ""))
    .map(([name]) => ({
      path: "deno.lock",
      line: 1,
      rule: "integrity",
      message: `${name} has no SHA-512 of its bytes`,
    }));
}

function reasonFaults(
  imports: Manifest["imports"],
  reasons: ReadonlyMap<string, Reason>,
  uses: ReadonlyMap<string, readonly string[]>,
): Fault[] {
  const faults: Fault[] = [];
  for (const [name, { line, text }] of reasons) {
    const tell = (rule: string, message: string) =>
      faults.push({ path: ARCHITECTURE, line, rule, message: `${name}: ${message}` });
    if (!(name in imports)) tell("stale_reason", "is no package of deno.json");
    const product = uses.get(name)?.find((path) => path === "main.ts" || path.startsWith("src/"));
    if (NOT_SHIPPED.test(text) && product !== undefined) {
      tell("test_only", `is imported by ${product}, and so not for ${text.split(" only")[0]} only`);
    }
  }
  return faults;
}

/** Rows `| \`name\`, \`name\` | why |` of the section. */
function reasonsOf(architecture: string): Map<string, Reason> {
  const reasons = new Map<string, Reason>();
  let isInside = false;
  for (const [index, text] of architecture.split("\n").entries()) {
    if (text.startsWith("## ")) isInside = text === SECTION;
    const [, names, why] = isInside ? text.split("|").map((cell) => cell.trim()) : [];
    if (why === undefined) continue;
    for (const [, name] of names!.matchAll(/`([^`]+)`/g)) {
      reasons.set(name!, { line: index + 1, text: why });
    }
  }
  return reasons;
}

/** The files that import each package, including paths below it. */
function usesOf(
  imports: Manifest["imports"],
  sources: readonly Source[],
): Map<string, string[]> {
  const uses = new Map<string, string[]>();
  for (const source of sources) {
    for (const { specifier } of importsOf(source)) {
      const name = Object.keys(imports).find((name) =>
        specifier === name || specifier.startsWith(`${name}/`)
      );
      if (name !== undefined) uses.set(name, [...uses.get(name) ?? [], source.path]);
    }
  }
  return uses;
}

/** `npm:@noble/hashes@2.0.1/sha2.js` is locked as `npm:@noble/hashes@2.0.1`. */
function withoutPath(specifier: string): string {
  const [, name] = /^(npm:(?:@[^/]+\/)?[^/]+)/.exec(specifier) ?? [];
  return name ?? specifier;
}
