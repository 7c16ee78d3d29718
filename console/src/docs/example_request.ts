/** A request in an example of the documentation: found when the site is built, sent by a reader. */
export interface ExampleRequest {
  readonly method: string;
  /** Path and query; may have `$NAME` where the shell has a variable. */
  readonly path: string;
  /** Whose credential the example sends. */
  readonly credential: "key" | "operator" | "none";
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}
