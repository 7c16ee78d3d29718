/** The beginning of the JSON of a value, however large the value is. */

interface Writer {
  text: string;
  readonly max: number;
}

/** At most about `charactersMax` characters; then an ellipsis. */
export function shortJson(value: unknown, charactersMax: number): string {
  const writer: Writer = { text: "", max: charactersMax };
  write(writer, value);
  return isFull(writer) ? `${writer.text.slice(0, charactersMax)}…` : writer.text;
}

function isFull({ text, max }: Writer): boolean {
  return text.length > max;
}

/** No deeper than there are characters, for each level writes one. */
function write(writer: Writer, value: unknown): void {
  if (isFull(writer)) return;
  if (typeof value === "string") {
    // One character more than fits, so that the text is seen to be cut.
    writer.text += JSON.stringify(value.slice(0, writer.max + 1));
  } else if (typeof value !== "object" || value === null) {
    writer.text += JSON.stringify(value) ?? "null";
  } else if (Array.isArray(value)) {
    writeArray(writer, value);
  } else {
    writeObject(writer, value as Readonly<Record<string, unknown>>);
  }
}

function writeArray(writer: Writer, array: readonly unknown[]): void {
  writer.text += "[";
  for (let index = 0; index < array.length && !isFull(writer); index++) {
    if (index > 0) writer.text += ",";
    write(writer, array[index]);
  }
  writer.text += "]";
}

function writeObject(writer: Writer, object: Readonly<Record<string, unknown>>): void {
  writer.text += "{";
  let isFirst = true;
  for (const name in object) {
    if (isFull(writer)) break;
    if (!Object.hasOwn(object, name)) continue;
    if (!isFirst) writer.text += ",";
    isFirst = false;
    writer.text += `${JSON.stringify(name.slice(0, writer.max + 1))}:`;
    write(writer, object[name]);
  }
  writer.text += "}";
}
