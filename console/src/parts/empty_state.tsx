/** Says that there is nothing yet, and teaches the next step, with a command that can be run. */

import type { ComponentChildren } from "preact";
import { CopyButton } from "./copy_button.tsx";

export interface EmptyStateProps {
  readonly title: string;
  /** What would be here, in one or two sentences. */
  readonly children?: ComponentChildren;
  /** A command for the shell. */
  readonly command?: string;
}

export function EmptyState({ title, children, command }: EmptyStateProps) {
  return (
    <div class="empty">
      <h2>{title}</h2>
      {children && <p>{children}</p>}
      {command && <Command text={command} />}
    </div>
  );
}

export function Command({ text }: { text: string }) {
  return (
    <div class="command">
      <pre tabIndex={0}>{text}</pre>
      <CopyButton text={text} label="Copy" />
    </div>
  );
}
