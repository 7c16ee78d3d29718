/** Fields that differ between two states, each with both values. */

import { useState } from "preact/hooks";
import { shortJson } from "./short_json.ts";
import { shownPath } from "./shown_path.ts";

export interface ChangedField {
  readonly path: readonly (string | number)[];
  /** Undefined where there is none, like `after`. */
  readonly before: unknown;
  readonly after: unknown;
}

/** So many are drawn at once. */
const FIELDS_SHOWN = 100;
/** Of each value. */
const CHARACTERS_SHOWN = 120;

export function ChangedFields({ changes }: { changes: readonly ChangedField[] }) {
  const [shown, setShown] = useState(FIELDS_SHOWN);
  if (changes.length === 0) return <p>None.</p>;
  return (
    <>
      <ul class="changes">
        {changes.slice(0, shown).map((change, at) => (
          <li key={at}>
            <code class="wrap">
              <bdi>{shownPath(change.path)}</bdi>
            </code>
            <BeforeAfter {...change} />
          </li>
        ))}
      </ul>
      {changes.length > shown && (
        <button
          type="button"
          class="small"
          onClick={() => setShown(shown + FIELDS_SHOWN)}
        >
          {`Show more of ${changes.length}`}
        </button>
      )}
    </>
  );
}

/** Of both values the beginning; undefined is none. */
export function BeforeAfter({ before, after }: Pick<ChangedField, "before" | "after">) {
  return (
    <div class="json-line">
      <Short value={before} />
      {" → "}
      <Short value={after} />
    </div>
  );
}

function Short({ value }: { value: unknown }) {
  if (value === undefined) return <span class="quiet">nothing</span>;
  return <bdi class="mono">{shortJson(value, CHARACTERS_SHOWN)}</bdi>;
}
