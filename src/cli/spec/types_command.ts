/** `types`: writes the TypeScript types of a spec, or says whether those in a file are current. */

import type { JsonObject } from "../../domain/json.ts";
import { compileSpec } from "../../domain/spec/compile.ts";
import { isInterfaceName, writeTypes } from "../../domain/spec/shapes/write_types.ts";
import { readDeployed } from "./deploy.ts";
import { openOutput, type Output } from "../terminal/output.ts";
import { printPart } from "../terminal/print.ts";
import { type CommonOptions, openSession } from "../connection/session.ts";
import { EXIT_FAILED, EXIT_MISUSED, reasonOf } from "../terminal/settings.ts";
import { EXIT_REFUSED, showFaults } from "./spec_faults.ts";
import { readSpecFile } from "./spec_file.ts";

export interface TypesOptions extends CommonOptions {
  readonly spec?: string;
  readonly out?: string;
  readonly name: string;
  readonly check?: boolean;
}

/** A spec, and how to get its types again. */
interface Source {
  readonly spec: JsonObject;
  readonly from: string;
}

export async function types(options: TypesOptions): Promise<void> {
  const output = openOutput(options);
  const { name, out, check = false } = options;
  if (!isInterfaceName(name)) {
    misused(output, `"${name}" is no name of an interface.`, "For example --name Shop");
  }
  if (check && out === undefined) {
    misused(output, "--check compares a file.", "Name it: --out src/shop.ts");
  }
  const { spec, from } = options.spec === undefined
    ? await deployedSpec(output, options)
    : await specOfFile(output, options.spec);
  const text = writeTypes(spec, name);
  if (check) return await compare(output, text, out!);
  if (out !== undefined) {
    await Deno.writeTextFile(out, text).catch((error) =>
      output.fail({ error: reasonOf(error), error_type: "not_written" })
    );
    output.result({ file: out, name }, () => `Wrote ${out} from ${from}.`);
  } else if (output.json) output.result({ name, types: text }, () => text);
  else printPart(Deno.stdout, text);
}

function misused(output: Output, error: string, hint: string): never {
  return output.fail({ error, error_type: "misused", hint }, EXIT_MISUSED);
}

async function deployedSpec(output: Output, options: TypesOptions): Promise<Source> {
  const session = await openSession(options);
  const deployed = await readDeployed(session);
  if (!deployed.ok) return output.fail(deployed.failure, deployed.code);
  const { spec, version } = deployed;
  const { environment } = session;
  if (spec === undefined) {
    return output.fail({
      error: `${environment} has no spec yet.`,
      error_type: "not_found",
      hint: "Deploy one first, or name a file: daybook types --spec spec.json",
    });
  }
  return { spec, from: `${environment}, version ${version}` };
}

async function specOfFile(output: Output, path: string): Promise<Source> {
  const read = await readSpecFile(path);
  if (!read.ok) {
    const { error, hint } = read;
    return output.fail({ error, error_type: "spec_unreadable", hint }, EXIT_MISUSED);
  }
  const compiled = compileSpec(read.file.spec);
  if (compiled.ok) return { spec: read.file.spec, from: path };
  const { violations } = compiled;
  return output.fail({
    error: `The spec is not valid (${violations.length}).`,
    error_type: "spec_invalid",
    hint: showFaults(violations, read.file, output.paintError, "red"),
    violations,
  }, EXIT_REFUSED);
}

async function compare(output: Output, text: string, path: string): Promise<void> {
  let stored: string | undefined;
  try {
    stored = await Deno.readTextFile(path);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) {
      output.fail({ error: reasonOf(error), error_type: "unreadable" });
    }
  }
  // A checkout may have changed the ends of lines.
  if (stored?.replaceAll("\r\n", "\n") === text) {
    return output.result({ file: path, current: true }, () => `${path} is current.`);
  }
  const again = "Write it again: the same command without --check.";
  output.fail({
    error: stored === undefined ? `There is no file ${path}.` : `${path} is not current.`,
    error_type: "types_differ",
    hint: stored === undefined ? again : `${firstDifference(stored, text)}\n${again}`,
    file: path,
  }, EXIT_FAILED);
}

/** The first lines that differ, as `diff` shows them. */
export function firstDifference(stored: string, text: string): string {
  const [old, current] = [stored, text].map((each) => each.split(/\r?\n/)) as [string[], string[]];
  const at = current.findIndex((line, index) => line !== old[index]);
  const line = at === -1 ? current.length : at;
  const [left, right] = [old[line], current[line]];
  return [
    `Line ${line + 1}:`,
    ...(left === undefined ? [] : [`- ${left}`]),
    ...(right === undefined ? [] : [`+ ${right}`]),
  ].join("\n");
}
