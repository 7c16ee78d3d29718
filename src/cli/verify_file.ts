/**
 * `verify`: checks evidence offline, with neither a store nor settings. The file is an
 * attestation bundle, the receipt of an erasure, a page of events, or a whole environment file.
 * The exit code is 0 if the evidence holds, else 1.
 */

import {
  type BundleStep,
  type BundleVerdict,
  type Expected,
  type PageEntry,
  type PageVerdict,
  verifyBundle,
  verifyPage,
} from "../domain/audit/attestation.ts";
import { isSmallOrder } from "../domain/audit/public_key.ts";
import { findReceipt, parseReceipt, verifyReceipt } from "../domain/erasure/receipt.ts";
import { isJsonObject, type JsonObject } from "../domain/json.ts";
import { createFileCheck } from "../domain/transfer/check_file.ts";
import { LINE_BYTES_MAX } from "../domain/transfer/record.ts";
import { createLineSplitter } from "../domain/transfer/split_lines.ts";
import { print } from "./terminal/print.ts";
import { EXIT_FAILED, EXIT_MISUSED, exitWith, reasonOf } from "./terminal/settings.ts";
import { parseJson } from "../domain/json_text/parse_json.ts";

export interface VerifyOptions {
  readonly key?: string;
  readonly stream?: string;
  readonly index?: string;
  readonly previous?: string;
}

/** Whether the evidence holds, and the message to print. */
interface Finding {
  readonly ok: boolean;
  readonly message: string;
}

const HEX_64 = /^[0-9a-f]{64}$/;
const INDEX = /^\d{1,15}$/;
/** How an environment file begins. */
const FILE_START = '{"record":"header"';

/** Titles of the verification steps; docs/reference/audit.md numbers them. */
const STEP_TITLES: Readonly<Record<BundleStep, string>> = {
  form: "its form",
  event: "step 1, the event's key",
  counts: "step 2, index and counts",
  chain: "step 3, the chain hash",
  stream_proof: "step 4, stream_proof",
  instance_proof: "step 5, instance_proof",
  signature: "step 6, the signature",
};

export async function verifyFile(path: string, options: VerifyOptions): Promise<void> {
  checkOptions(options);
  let finding: Finding;
  try {
    finding = await findingOf(path, options);
  } catch (error) {
    exitWith(EXIT_FAILED, `The file cannot be read: ${reasonOf(error)}`);
  }
  if (!finding.ok) exitWith(EXIT_FAILED, `NOT VALID: ${finding.message}`);
  print(`VALID: ${finding.message}`);
  Deno.exit(0);
}

function checkOptions({ key, previous, index }: VerifyOptions): void {
  for (const [name, value] of Object.entries({ key, previous })) {
    if (value === undefined || HEX_64.test(value)) continue;
    exitWith(EXIT_MISUSED, `--${name} must be 64 lowercase hex characters`);
  }
  if (key !== undefined && isSmallOrder(key)) {
    exitWith(EXIT_MISUSED, "--key must not be a point of small order: anybody can sign for it");
  }
  if (index !== undefined && !INDEX.test(index)) {
    exitWith(EXIT_MISUSED, "--index must be a number, counted from 0");
  }
}

async function findingOf(path: string, options: VerifyOptions): Promise<Finding> {
  if (await startsAsEnvironment(path)) {
    refuseUnused(options, []);
    return await checkEnvironment(path);
  }
  let document: unknown;
  try {
    const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
    document = parseJson(decoder.decode(await Deno.readFile(path)));
  } catch (error) {
    if (!(error instanceof SyntaxError || error instanceof TypeError)) throw error;
    return { ok: false, message: "the file is not JSON in UTF-8" };
  }
  if (isJsonObject(document) && Array.isArray(document.data)) {
    refuseUnused(options, ["stream", "previous"]);
    return checkPage(document.data, options);
  }
  const receipt = findReceipt(document);
  if (receipt !== undefined) {
    refuseUnused(options, ["key", "stream"]);
    return checkReceipt(receipt, options);
  }
  refuseUnused(options, ["key", "stream", "index"]);
  const { key: publicKey, stream, index } = options;
  const expected = { publicKey, stream, ...(index !== undefined && { index: Number(index) }) };
  return describeBundle(verifyBundle(document, expected), expected);
}

/** Refuses options that mean nothing for this kind of file: the user expected another kind. */
function refuseUnused(options: VerifyOptions, used: readonly (keyof VerifyOptions)[]): void {
  for (const name of ["key", "stream", "index", "previous"] as const) {
    if (options[name] === undefined || used.includes(name)) continue;
    exitWith(EXIT_MISUSED, `--${name} cannot be checked in this kind of file`);
  }
}

function describeBundle(verdict: BundleVerdict, expected: Expected): Finding {
  if (!verdict.ok) {
    return { ok: false, message: `${STEP_TITLES[verdict.step]}: ${verdict.message}` };
  }
  const { format, event, stream, anchor } = verdict.bundle;
  const place = format === 2
    ? ` on ${anchor.created_at} for ${anchor.environment} of instance ${anchor.instance_id}`
    : "";
  const trust = trustIn(expected.publicKey, "bundle", anchor.public_key);
  const message =
    `event ${event.index} of ${stream.key}, anchored${place}: all steps hold.${trust}`;
  return { ok: true, message };
}

/** A note on the key, unless the user has named the key that must have signed. */
function trustIn(given: string | undefined, document: string, own: string): string {
  if (given !== undefined) return "";
  return `\nThe key is the ${document}'s own (${own}): compare it with one that you trust, ` +
    "or give that as --key.";
}

function checkReceipt(document: unknown, { key: given, stream }: VerifyOptions): Finding {
  const receipt = parseReceipt(document);
  if (typeof receipt === "string") {
    return { ok: false, message: `the form of the receipt: ${receipt} is not what it must be` };
  }
  const { key, public_key, event_count, instance_id, environment, executed_at } = receipt;
  if (stream !== undefined && stream !== key) {
    return { ok: false, message: `the receipt is of ${key}` };
  }
  if (given !== undefined && given !== public_key) {
    return { ok: false, message: `the signature: the receipt was signed with ${public_key}` };
  }
  if (!verifyReceipt(receipt)) {
    return { ok: false, message: "the signature is not one of what the receipt says" };
  }
  const message = `${event_count} events of ${key} in ${environment} of instance ${instance_id} ` +
    `were erased on ${executed_at}; the chain hash of their last marker is ${receipt.tip}.`;
  return { ok: true, message: message + trustIn(given, "receipt", public_key) };
}

function checkPage(data: readonly unknown[], { stream, previous }: VerifyOptions): Finding {
  for (const [index, entry] of data.entries()) {
    if (isPageEntry(entry)) continue;
    const message = `entry ${index} has no raw text or no hash: list the events with raw=true`;
    return { ok: false, message };
  }
  return describePage(verifyPage(data as readonly PageEntry[], { stream, previous }));
}

function isPageEntry(entry: unknown): entry is JsonObject & PageEntry {
  if (!isJsonObject(entry) || typeof entry.raw !== "string") return false;
  return typeof entry.hash === "string" && HEX_64.test(entry.hash);
}

function describePage(verdict: PageVerdict): Finding {
  if (!verdict.ok) return { ok: false, message: `entry ${verdict.index}: ${verdict.message}` };
  const loose = verdict.start === "unknown"
    ? "\nNothing holds the first of them: give the hash of the event before it as --previous."
    : "";
  const { events, stream, tip } = verdict;
  return {
    ok: true,
    message: `${events} events of ${stream} follow from one another, to ${tip}.${loose}`,
  };
}

async function startsAsEnvironment(path: string): Promise<boolean> {
  using file = await Deno.open(path);
  const start = new Uint8Array(FILE_START.length);
  await file.read(start);
  return new TextDecoder().decode(start) === FILE_START;
}

async function checkEnvironment(path: string): Promise<Finding> {
  const check = createFileCheck();
  const splitter = createLineSplitter();
  const file = await Deno.open(path);
  for await (const chunk of file.readable) {
    for (const line of splitter.push(chunk)) {
      const step = check.take(line);
      if (!step.ok) return faultFinding(step.fault);
    }
    // A line that never ends must not fill the memory.
    if (splitter.restBytes > LINE_BYTES_MAX) break;
  }
  const fault = check.finish(splitter.rest());
  if (fault !== undefined) return faultFinding(fault);
  const { events, streams } = check.counts;
  const message = `${events} events in ${streams} streams: every chain, every count and the ` +
    "checksum hold.";
  return { ok: true, message };
}

function faultFinding(fault: { line: number; rule: string; message: string }): Finding {
  return { ok: false, message: `line ${fault.line}: [${fault.rule}] ${fault.message}` };
}
