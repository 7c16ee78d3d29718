/** The state of a stream at one length under two handlers, side by side. */

import { useId, useMemo } from "preact/hooks";
import { JsonView } from "../parts/json_view.tsx";
import { hrefOf, place, setQuery } from "../shell/router.ts";
import { CHANGES_MAX, changesBetween } from "../shell/state_changes.ts";
import type { State } from "../shell/stream_fold.ts";
import type { Comparison } from "./compare_folds.ts";

export interface TwoStatesProps {
  readonly comparison: Comparison;
  readonly type: string;
  readonly stream: string;
  /** Whether something else has been typed since. */
  readonly isOld: boolean;
}

export function TwoStates({ comparison, type, stream, isOld }: TwoStatesProps) {
  const id = useId();
  const { length: last, firstDifference, deployed, edited } = comparison;
  const asked = Number(place.value.query.length ?? last);
  const length = Number.isInteger(asked) && asked >= 0 ? Math.min(asked, last) : last;
  const [before, after] = useMemo(
    () => [deployed.stateAt(length), edited.stateAt(length)],
    [comparison, length],
  );
  const changes = useMemo(() => changesBetween(before, after), [before, after]);
  const show = (to: number) => setQuery({ length: to });
  return (
    <section aria-label="Comparison" class={isOld ? "quiet" : undefined}>
      <p role="status" class="note">
        {firstDifference === undefined
          ? `Both handlers give the same states, at each of ${last} lengths.`
          : (
            <>
              The states first differ after {firstDifference} of {last} events, because of{" "}
              <a href={hrefOf(["streams", type, stream], { event: firstDifference - 1 })}>
                event {firstDifference - 1}
              </a>.{" "}
              <button type="button" class="small" onClick={() => show(firstDifference)}>
                Show it
              </button>
            </>
          )}
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
    </section>
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
