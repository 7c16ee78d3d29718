/** A long text, such as a hash, by its beginning; more of it on demand. */

import { useState } from "preact/hooks";

/** So much more is shown at once, so that no text can stall the page. */
const MORE = 20_000;

export interface ShortTextProps {
  readonly text: string;
  /** What it is, for screen readers: "Show all of <what>". */
  readonly what: string;
  /** Characters shown at first. */
  readonly shown?: number;
}

export function ShortText({ text, what, shown = 16 }: ShortTextProps) {
  const [most, setMost] = useState(shown);
  // The end may cut a character in half; the mark behind it says that more follows.
  if (text.length <= most) {
    return (
      <code class="wrap">
        <bdi>{text}</bdi>
      </code>
    );
  }
  const name = text.length - most > MORE ? "Show more" : "Show all";
  return (
    <>
      <code class="wrap">
        <bdi>{text.slice(0, most)}</bdi>…
      </code>{" "}
      <button
        type="button"
        class="small"
        aria-label={`${name} of ${what}`}
        onClick={() => setMost(most + MORE)}
      >
        {name}
      </button>
    </>
  );
}
