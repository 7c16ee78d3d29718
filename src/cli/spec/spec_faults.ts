/** Shows violations and warnings of a spec: where in the file, what is wrong, and what to do. */

import type { Violation } from "../../domain/refusal.ts";
import type { Colour, Paint } from "../terminal/output.ts";
import type { SpecFile } from "./spec_file.ts";

/** The exit code for a spec that the server refuses, or would refuse. */
export const EXIT_REFUSED = 4;

export function showFaults(
  faults: readonly Violation[],
  file: SpecFile,
  paint: Paint,
  colour: Colour,
): string {
  return faults.map(({ rule, path, message, hint }) => {
    const place = file.locate(path);
    const where = place === undefined ? path : `${place} ${paint("dim", path)}`;
    const what = `  ${paint(colour, rule)}: ${message}`;
    return [where, what, hint && `  ${paint("dim", hint)}`].filter((line) => line).join("\n");
  }).join("\n");
}
