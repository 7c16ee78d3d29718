/** What the document says of one route: a row of the tables in `operations/`. */

import type { JsonValue } from "../../domain/json.ts";
import type { ErrorName } from "./errors.ts";
import type { FieldSchemas, Schema } from "./schema.ts";

/** How a request body is sent. */
export type BodyForm = "json" | "optional json" | "multipart" | "json lines";

export interface Operation {
  /** Of the operation in generated clients: never changed once it is out. */
  readonly id: string;
  /** One line. */
  readonly summary: string;
  readonly query?: FieldSchemas;
  /** Beside `Authorization`, which the access of the route says. */
  readonly headers?: FieldSchemas;
  readonly body?: Schema;
  /** A body that shows what one looks like. */
  readonly example?: JsonValue;
  /** Default: `json`. */
  readonly bodyForm?: BodyForm;
  /** Whether its answers carry an `ETag`, and 304 says that the client has the newest one. */
  readonly isTagged?: true;
  /** Success: status to schema. A text names a media type that is not JSON. */
  readonly answers: Readonly<Record<number, Schema | string>>;
  /**
   * What it refuses by itself. What its access, its body and its query may be refused for is
   * added: see `errorsOf()`.
   */
  readonly errors?: readonly ErrorName[];
}

/** `GET /{type}` and the like, to what is said of it. */
export type Operations = Readonly<Record<string, Operation>>;
