/** A button that copies a text, and says that it did. */

import { useState } from "preact/hooks";

const SHOWN_MS = 1_500;

export interface CopyButtonProps {
  readonly text: string | (() => string);
  /** What is copied, such as `Copy as curl`. */
  readonly label?: string;
}

export function CopyButton({ text, label = "Copy" }: CopyButtonProps) {
  const [shown, setShown] = useState<string>();

  async function copy(): Promise<void> {
    try {
      await navigator.clipboard.writeText(typeof text === "function" ? text() : text);
      setShown("Copied");
    } catch {
      setShown("The browser refused it");
    }
    setTimeout(() => setShown(undefined), SHOWN_MS);
  }

  return (
    <button type="button" class="small" onClick={copy}>
      <span aria-live="polite">{shown ?? label}</span>
    </button>
  );
}
