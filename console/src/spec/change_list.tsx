/** The differences of two specs, each with its place, its meaning, and both values. */

import type { SpecDiff } from "../../../src/domain/spec/diff.ts";
import type { Effect, SpecChange } from "../../../src/domain/spec/spec_change.ts";
import { JsonView } from "../parts/json_view.tsx";
import { StatusChip, type Tone } from "../parts/status_chip.tsx";

/** More are counted. */
const CHANGES_SHOWN = 200;

const EFFECTS: Readonly<Record<Effect, readonly [text: string, tone: Tone]>> = {
  refused: ["refused", "danger"],
  narrower: ["accepts less", "warning"],
  states: ["changes states", "busy"],
  compatible: ["compatible", "good"],
  none: ["no effect", "neutral"],
};

export function ChangeList({ diff: { changes, folded_again } }: { diff: SpecDiff }) {
  const more = changes.length - CHANGES_SHOWN;
  return (
    <section aria-label="Changes">
      <h3>{changes.length === 1 ? "1 change" : `${changes.length} changes`}</h3>
      {folded_again.length > 0 && (
        <p>
          States of <strong>{folded_again.join(", ")}</strong> are computed anew.
        </p>
      )}
      <ul class="spec-changes">
        {changes.slice(0, CHANGES_SHOWN).map((change) => (
          <ChangeItem key={`${change.kind} ${change.path}`} change={change} />
        ))}
      </ul>
      {more > 0 && <p class="quiet">And {more} more.</p>}
    </section>
  );
}

function ChangeItem({ change }: { change: SpecChange }) {
  const { kind, path, before, after, effect, meaning, hint } = change;
  const [text, tone] = EFFECTS[effect];
  return (
    <li>
      <p>
        <strong>{kind}</strong> <code>{path}</code> <StatusChip state={text} tone={tone} />
      </p>
      <p>
        <bdi>{meaning}</bdi> {hint && <bdi class="quiet">{hint}</bdi>}
      </p>
      {(before !== undefined || after !== undefined) && (
        <details>
          <summary>Before and after</summary>
          <div class="columns">
            <Value title="Before" value={before} />
            <Value title="After" value={after} />
          </div>
        </details>
      )}
    </li>
  );
}

function Value({ title, value }: { title: string; value: unknown }) {
  return (
    <div>
      <strong>{title}</strong>
      {value === undefined ? <p class="quiet">not there</p> : <JsonView value={value} />}
    </div>
  );
}
