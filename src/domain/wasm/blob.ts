/**
 * Blobs, that is, uploaded modules: their names, their versions, and how a spec refers to them.
 *
 * A spec may pin a blob to a version as `<name>:v<N>`. Without a pin the latest version is
 * used. See docs/reference/modules.md.
 */

import { excerpt } from "../handler/path.ts";

/** One version of a blob as lists show it. */
export interface BlobVersion {
  readonly name: string;
  /** Counts from 1, without gaps. */
  readonly version: number;
  /** SHA-256 of the uploaded file: 64 hex characters. */
  readonly sha256: string;
  /** The entrypoints that a spec may name. */
  readonly exports: readonly string[];
  /** Bytes of the uploaded file. */
  readonly bytes: number;
  /** ISO 8601 UTC. */
  readonly created_at: string;
}

/** What a spec writes: a name, with or without a version. */
export interface BlobReference {
  readonly name: string;
  readonly version?: number;
}

/** The version that a reference resolves to, and its content. */
export type ResolvedBlob = Pick<BlobVersion, "name" | "version" | "sha256">;

const NAME = /^[a-z][a-z0-9_-]{0,63}$/;
const REFERENCE = /^([a-z][a-z0-9_-]{0,63})(?::v([1-9][0-9]{0,8}))?$/;
export const BLOB_NAME_HINT =
  "1 to 64 of a-z, 0-9, '_' and '-', beginning with a letter, e.g. order_logic";
const REFERENCE_HINT = "A blob name, e.g. order_logic, or one version of it, e.g. order_logic:v3";

export function isBlobName(text: string): boolean {
  return NAME.test(text);
}

/** The reference in `text`; undefined when it is not one. */
export function parseReference(text: string): BlobReference | undefined {
  const found = REFERENCE.exec(text);
  if (found === null) return undefined;
  const [, name = "", version] = found;
  return version === undefined ? { name } : { name, version: Number(version) };
}

/** Says what is wrong with a text that is not a reference, and what to write instead. */
export function explainReference(text: string): { readonly message: string; hint: string } {
  const colon = text.indexOf(":");
  const isPin = colon > 0 && isBlobName(text.slice(0, colon));
  const message = isPin
    ? `"${excerpt(text.slice(colon))}" is not a pin: versions are written as :v1, :v2 and so on`
    : `"${excerpt(text)}" is not the name of a blob`;
  return { message, hint: isPin ? REFERENCE_HINT : `${REFERENCE_HINT}. ${BLOB_NAME_HINT}` };
}

/** The one spelling of a reference: `<name>` or `<name>:v<N>`. */
export function referenceText({ name, version }: BlobReference): string {
  return version === undefined ? name : `${name}:v${version}`;
}
