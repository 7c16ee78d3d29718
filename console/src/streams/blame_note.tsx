/** Which event last changed a value, and from what to what. */

import { BeforeAfter } from "../parts/changed_fields.tsx";
import type { JsonPath } from "../parts/json_view.tsx";
import { shownPath } from "../parts/shown_path.ts";
import { hrefOf } from "../shell/router.ts";
import { valueAt } from "../shell/state_changes.ts";
import type { Timeline } from "../shell/stream_fold.ts";
import type { ShownStream } from "./event_list.tsx";

export interface Blame {
  readonly path: JsonPath;
  readonly isLooking: boolean;
  /** The event that last changed the value; undefined if none has. */
  readonly index?: number | undefined;
}

export interface BlameNoteProps {
  readonly blame: Blame;
  readonly stream: ShownStream;
  readonly timeline: Timeline;
}

export function BlameNote({ blame: { path, isLooking, index }, stream, timeline }: BlameNoteProps) {
  const name = (
    <code class="wrap">
      <bdi>{shownPath(path)}</bdi>
    </code>
  );
  if (isLooking) return <>{name} …</>;
  if (index === undefined) return <>{name} has never been changed.</>;
  const { type, id, events } = stream;
  const [before, after] = [index, index + 1].map((length) =>
    valueAt(timeline.stateAt(length), path)
  );
  return (
    <>
      {name} was last set by{" "}
      <a href={hrefOf(["streams", type, id], { event: index })}>event {index}</a>,{" "}
      <strong>
        <bdi>{events.at(index)?.event.type}</bdi>
      </strong>:
      <BeforeAfter before={before} after={after} />
    </>
  );
}
