/** What keeps a text from being a handler. */

import type { HandlerFault } from "./compare_folds.ts";

const FAULTS_SHOWN = 20;

export function HandlerFaults({ faults }: { faults: readonly HandlerFault[] }) {
  return (
    <div class="note danger" role="alert">
      <p>
        <strong>This is not a handler yet.</strong>
      </p>
      <ul>
        {faults.slice(0, FAULTS_SHOWN).map(({ path, message, hint }, index) => (
          <li key={index}>
            {path !== "" && <code>{path}</code>} {message}{" "}
            {hint && <span class="quiet">{hint}</span>}
          </li>
        ))}
      </ul>
    </div>
  );
}
