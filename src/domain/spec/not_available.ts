/**
 * Parts of the contract that this version does not run yet. They are refused at deploy, so that no
 * declared behaviour is ever silently left out; empty ones are accepted. Each function is what the
 * feature's own compiler takes the place of.
 */

import { isJsonObject, type JsonValue } from "../json.ts";
import type { FaultList } from "./fault_list.ts";

function refuseUnlessEmpty(
  value: JsonValue | undefined,
  shape: "array" | "object",
  path: string,
  what: string,
  faults: FaultList,
): void {
  if (value === undefined) return;
  const fits = shape === "array" ? Array.isArray(value) : isJsonObject(value);
  if (!fits) {
    const article = shape === "array" ? "an array" : "an object";
    faults.add(
      "wrong_type",
      path,
      `${path} must be ${article}.`,
      `Write ${shape === "array" ? "[]" : "{}"} for none.`,
    );
  } else if (Object.keys(value as object).length > 0) notAvailable(path, what, faults);
}

function notAvailable(path: string, what: string, faults: FaultList): void {
  faults.add(
    "not_available",
    path,
    `This version of the service does not run ${what} yet, so it does not accept any.`,
    "Remove it; everything else in the spec can be deployed without it.",
  );
}

export function refuseGeo(value: JsonValue | undefined, path: string, faults: FaultList) {
  refuseUnlessEmpty(value, "object", path, "geo attachments", faults);
}

export function refuseGeoTypes(value: JsonValue | undefined, path: string, faults: FaultList) {
  refuseUnlessEmpty(value, "object", path, "geo types", faults);
}
