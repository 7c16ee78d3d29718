/**
 * Reads a request's body as a JSON object.
 *
 * It checks content type, size, encoding and JSON, in this order. Each route sets its own size
 * limit. See docs/reference/basics.md.
 */

import type { JsonObject } from "../../domain/json.ts";
import { accept, ACCEPTED, type Outcome, refuse } from "../../domain/refusal.ts";
import { holdForBody, readBody, type Sender, type Sink } from "./body_bytes.ts";
import { parseJsonText } from "./json_text.ts";

const STRICT = { fatal: true, ignoreBOM: true } as const;
/** Keeps a byte order mark, so that it is noticed and refused instead of dropped. */
const utf8 = new TextDecoder("utf-8", STRICT);

const JSON_TYPE = "application/json";
/** The approximate memory of one value of a long body. */
const NODE_BYTES = 40;

/** What else applies to a body. */
export interface BodyRules {
  /** Default: that of all requests. */
  readonly secondsMax?: number;
  /** Called with the text before anything of it is parsed. */
  readonly check?: (text: string) => Outcome<void>;
}

/**
 * 400 if the body is not a JSON object, 413 if it is too large, 408 if it arrives too slowly,
 * 503 if other bodies hold all the memory set aside for bodies.
 */
export async function readJsonBody(
  sender: Sender,
  bytesMax: number,
  rules: BodyRules = {},
): Promise<Outcome<JsonObject>> {
  const { headers } = sender.request;
  const type = checkContentType(headers.get("content-type"));
  if (!type.ok) return type;
  const coding = headers.get("content-encoding");
  if (coding !== null && coding !== "identity") {
    return badRequest("Content-Encoding is not supported; send the body as it is");
  }
  return parse(await readBody(sender, textSink(), bytesMax, rules.secondsMax), sender, rules);
}

/** As {@link readJsonBody}, but the body may be absent and is then an object without fields. */
export async function readOptionalJsonBody(
  sender: Sender,
  bytesMax: number,
  rules: BodyRules = {},
): Promise<Outcome<JsonObject>> {
  const blocks = await readBody(sender, textSink(), bytesMax, rules.secondsMax);
  if (blocks.ok && blocks.value.length === 0) return accept({});
  const type = checkContentType(sender.request.headers.get("content-type"));
  return type.ok ? parse(blocks, sender, rules) : type;
}

function parse(
  blocks: Outcome<string[]>,
  sender: Sender,
  { check }: BodyRules,
): Outcome<JsonObject> | Promise<Outcome<JsonObject>> {
  if (!blocks.ok) return blocks;
  const checked = check?.(blocks.value.join(""));
  if (checked?.ok === false) return checked;
  const hold = (nodes: number) => holdForBody(sender, nodes * NODE_BYTES);
  return parseJsonText(blocks.value, { turns: sender.host, hold });
}

/**
 * Decodes each block as it arrives, so that the bytes need not be kept. The texts are not joined:
 * for megabytes that takes too long. No text: none of them.
 */
function textSink(): Sink<string[]> {
  const texts: string[] = [];
  let isValid = true;
  let decoder: TextDecoder | undefined;

  return {
    add(block, isLast) {
      try {
        const text = isLast && decoder === undefined
          ? utf8.decode(block)
          : (decoder ??= new TextDecoder("utf-8", STRICT)).decode(block, { stream: !isLast });
        if (text !== "") texts.push(text);
      } catch {
        isValid = false;
      }
      return isValid;
    },
    end: () => isValid ? accept(texts) : badRequest("Request body is not valid UTF-8"),
  };
}

/** A misspelt field is an error; it must never be silently dropped. */
export function findUnknownKey(object: JsonObject, known: ReadonlySet<string>): string | undefined {
  for (const key in object) {
    if (!known.has(key)) return key;
  }
  return undefined;
}

function badRequest(message: string) {
  return refuse({ kind: "bad_request", message });
}

const TYPE_CHARACTERS_MAX = 1024;

/** Accepts `application/json` with any parameters, but no charset other than UTF-8. */
export function checkContentType(header: string | null): Outcome<void> {
  if (header === JSON_TYPE) return ACCEPTED;
  if (header !== null && header.length > TYPE_CHARACTERS_MAX) {
    return badRequest(`Content-Type must have at most ${TYPE_CHARACTERS_MAX} characters`);
  }
  const [type = "", ...parameters] = (header ?? "").split(";");
  if (type.trim().toLowerCase() !== JSON_TYPE) {
    return badRequest(`Content-Type must be ${JSON_TYPE}`);
  }
  for (const parameter of parameters) {
    const [name = "", value = ""] = parameter.split("=");
    if (name.trim().toLowerCase() !== "charset") continue;
    const charset = value.trim().replaceAll('"', "").toLowerCase();
    if (charset !== "utf-8" && charset !== "utf8") {
      return badRequest("Content-Type charset must be utf-8");
    }
  }
  return ACCEPTED;
}
