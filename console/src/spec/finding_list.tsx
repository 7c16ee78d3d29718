/** Findings as a list; each leads to its line in the editor. */

import type { Finding } from "./findings.ts";

export interface FindingListProps {
  readonly label: string;
  readonly findings: readonly Finding[];
  readonly lineOf: (offset: number) => number;
  readonly onGo: (offset: number) => void;
}

export function FindingList({ label, findings, lineOf, onGo }: FindingListProps) {
  if (findings.length === 0) return null;
  return (
    <ul class="findings" aria-label={label}>
      {findings.map(({ severity, message, hint, path, rule, range }, index) => (
        <li key={index} class={`note ${severity === "error" ? "danger" : "warning"}`}>
          <button
            type="button"
            class="small"
            onClick={() =>
              onGo(range.from)}
          >
            {`Line ${lineOf(range.from)}`}
          </button>{" "}
          <strong>
            <bdi>{message}</bdi>
          </strong>
          {hint && (
            <p>
              <bdi>{hint}</bdi>
            </p>
          )}
          {path && (
            <p class="quiet">
              <code>{rule}</code> at <code>{path}</code>
            </p>
          )}
        </li>
      ))}
    </ul>
  );
}
