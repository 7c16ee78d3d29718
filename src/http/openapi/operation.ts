/** What the OpenAPI document says of a route. */

import type { JsonValue } from "../../domain/json.ts";
import type { Query } from "../parameter.ts";
import type { ErrorName } from "./errors.ts";
import type { FieldSchemas, Schema } from "./schema.ts";

/** How a request body is sent. */
export type BodyForm = "json" | "optional json" | "multipart" | "json lines";

export interface Operation {
  /** The operation's name in generated clients; must not change once released. */
  readonly id: string;
  /** For browsers: no call of the API, so the OpenAPI document leaves it out. */
  readonly isPage?: true;
  /** One line. */
  readonly summary: string;
  readonly query?: Query;
  /** Headers other than `Authorization`, which follows from the route's access. */
  readonly headers?: FieldSchemas;
  readonly body?: Schema;
  /** A body. With a deployed spec, writes show its own types instead. */
  readonly example?: JsonValue;
  /** Default: `json`. */
  readonly bodyForm?: BodyForm;
  /** Whether answers carry an `ETag`, and 304 tells a client that its copy is current. */
  readonly isTagged?: true;
  /** Success: status to schema. A string is a media type other than JSON; null: no body. */
  readonly answers: Readonly<Record<number, Schema | string | null>>;
  /** The operation's own refusals. `errorsOf()` adds those of its access, body and query. */
  readonly errors?: readonly ErrorName[];
}
