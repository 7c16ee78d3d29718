/** The address of a view as text and as parts: a path, and a query behind it. */

export type Query = Readonly<Record<string, string | number | undefined>>;

/** Where the reader is: `#/streams/order?prefix=7K` is a path of two segments, one parameter. */
export interface Place {
  readonly path: readonly string[];
  readonly query: Readonly<Record<string, string>>;
}

export function parsePlace(text: string): Place {
  const bare = text.replace(/^#?\/?/, "");
  const mark = bare.indexOf("?");
  const path = mark < 0 ? bare : bare.slice(0, mark);
  const query = new URLSearchParams(mark < 0 ? "" : bare.slice(mark + 1));
  return {
    path: path.split("/").filter((segment) => segment !== "").map(decoded),
    query: Object.fromEntries(query),
  };
}

/** A segment that is no percent-encoding stands for itself. */
function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

/** `path` and `query` as the text behind `#`; parameters without a value are left out. */
export function formatPlace(path: readonly string[], query: Query = {}): string {
  const given = Object.entries(query)
    .filter(([, value]) => value !== undefined && value !== "")
    .map(([name, value]) => [name, String(value)]);
  const text = new URLSearchParams(given).toString();
  return `#/${path.map(encodeURIComponent).join("/")}${text === "" ? "" : `?${text}`}`;
}
