/** The state of a stream at one length under two handlers, side by side. */

import { useId, useMemo } from "preact/hooks";
import { ChangedFields } from "../parts/changed_fields.tsx";
import { JsonView } from "../parts/json_view.tsx";
import { hrefOf, place, setQuery } from "../shell/router.ts";
import { CHANGES_MAX, changesBetween } from "../shell/state_changes.ts";
import type { State } from "../shell/stream_fold.ts";
import type { Comparison, Folded } from "./compare_folds.ts";

export interface TwoStatesProps {
  /** Where the states part may come later. */
  readonly comparison: Folded | Comparison;
  readonly type: string;
  readonly stream: string;
  /** Whether something else has been typed since. */
  readonly isOld: boolean;
}

export function TwoStates({ comparison, type, stream, isOld }: TwoStatesProps) {
  const id = useId();
  const { length: last, deployed, edited } = comparison;
  const asked = Number(place.value.query.length ?? last);
  const length = Number.isInteger(asked) && asked >= 0 ? Math.min(asked, last) : last;
  const [before, after] = useMemo(
    () => [deployed.stateAt(length), edited.stateAt(length)],
    [deployed, edited, length],
  );
  const changes = useMemo(() => changesBetween(before, after), [before, after]);
  return (
    <section aria-label="Comparison" class={isOld ? "quiet" : undefined}>
      <p role="status" class="note">
        {"firstDifference" in comparison
          ? <WhereTheyPart {...{ comparison, type, stream }} />
          : "Looks for the first event after which the states differ."}
      </p>
      <div class="field">
        <label for={id}>
          After {length} of {last} events, {changes.length >= CHANGES_MAX ? "at least " : ""}
          {changes.length} {changes.length === 1 ? "field differs" : "fields differ"}
        </label>
        <input
          id={id}
          type="range"
          min={0}
          max={last}
          value={length}
          onInput={({ currentTarget }) =>
            setQuery({ length: Number(currentTarget.value) }, { isFleeting: true })}
        />
      </div>
      <div class="columns">
        <StateCard title="Deployed handler" state={before} other={after} />
        <StateCard title="Edited handler" state={after} other={before} />
      </div>
      {changes.length > 0 && (
        <section aria-label="What differs">
          <h2>What differs: deployed → edited</h2>
          <ChangedFields changes={changes} />
        </section>
      )}
    </section>
  );
}

interface WhereTheyPartProps {
  readonly comparison: Comparison;
  readonly type: string;
  readonly stream: string;
}

function WhereTheyPart({ comparison, type, stream }: WhereTheyPartProps) {
  const { firstDifference, length } = comparison;
  if (firstDifference === undefined) {
    return <>Both handlers give the same states, at each of {length} lengths.</>;
  }
  return (
    <>
      The states first differ after {firstDifference} of {length} events, because of{" "}
      <a href={hrefOf(["streams", type, stream], { event: firstDifference - 1 })}>
        event {firstDifference - 1}
      </a>.{" "}
      <button type="button" class="small" onClick={() => setQuery({ length: firstDifference })}>
        Show it
      </button>
    </>
  );
}

interface StateCardProps {
  readonly title: string;
  readonly state: State;
  /** What differs from it is marked. */
  readonly other: State;
}

function StateCard({ title, state, other }: StateCardProps) {
  return (
    <section class="card" aria-label={title}>
      <h2>{title}</h2>
      {state === undefined
        ? <p>The server would refuse to fold this: it takes too much.</p>
        : <JsonView value={state} comparedWith={{ before: other }} />}
    </section>
  );
}
