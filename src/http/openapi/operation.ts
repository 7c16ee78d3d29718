/** The description of one route: a row of the tables in `operations/`. */

import type { JsonValue } from "../../domain/json.ts";
import type { ErrorName } from "./errors.ts";
import type { FieldSchemas, Schema } from "./schema.ts";

/** How a request body is sent. */
export type BodyForm = "json" | "optional json" | "multipart" | "json lines";

export interface Operation {
  /** The operation's name in generated clients; must not change once released. */
  readonly id: string;
  /** One line. */
  readonly summary: string;
  readonly query?: FieldSchemas;
  /** Headers other than `Authorization`, which follows from the route's access. */
  readonly headers?: FieldSchemas;
  readonly body?: Schema;
  /** An example of a body. */
  readonly example?: JsonValue;
  /** Default: `json`. */
  readonly bodyForm?: BodyForm;
  /** Whether answers carry an `ETag`, and 304 tells a client that its copy is current. */
  readonly isTagged?: true;
  /** Success: status to schema. A string is a media type other than JSON. */
  readonly answers: Readonly<Record<number, Schema | string>>;
  /** The operation's own refusals. `errorsOf()` adds those of its access, body and query. */
  readonly errors?: readonly ErrorName[];
}

/** Rows by method and pattern, such as `GET /{type}`. */
export type Operations = Readonly<Record<string, Operation>>;
