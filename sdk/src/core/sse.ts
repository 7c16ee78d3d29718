/** Reads server-sent events, from bytes that may be cut anywhere. */

/** One event of the stream. */
export interface Frame {
  /** `message` if the stream does not name it. */
  readonly event: string;
  readonly data: string;
  /** Of this event, or of the last one that had an id. */
  readonly id: string;
}

export interface SseReader {
  /** The events that end within these bytes. */
  push(bytes: Uint8Array): Frame[];
}

/** As the HTML standard parses an event stream. */
export function createSseReader(): SseReader {
  const decoder = new TextDecoder();
  /** Pieces of the line that has no end yet. */
  let pieces: string[] = [];
  let isAfterReturn = false;
  let event = "";
  let data: string[] = [];
  let id = "";

  function takeLine(line: string, frames: Frame[]): void {
    if (line === "") {
      if (data.length > 0) frames.push({ event: event || "message", data: data.join("\n"), id });
      event = "";
      data = [];
      return;
    }
    const colon = line.indexOf(":");
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + (line[colon + 1] === " " ? 2 : 1));
    if (name === "data") data.push(value);
    else if (name === "event") event = value;
    else if (name === "id" && !value.includes("\0")) id = value;
  }

  return {
    push(bytes) {
      const frames: Frame[] = [];
      let text = decoder.decode(bytes, { stream: true });
      if (text === "") return frames;
      // The second half of a line end that was cut in two.
      if (isAfterReturn && text[0] === "\n") text = text.slice(1);
      isAfterReturn = text.endsWith("\r");
      const lines = text.split(/\r\n|\n|\r/);
      const rest = lines.pop()!;
      for (const line of lines) {
        takeLine(pieces.join("") + line, frames);
        pieces = [];
      }
      if (rest !== "") pieces.push(rest);
      return frames;
    },
  };
}
