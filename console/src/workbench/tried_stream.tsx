/** One stream, folded under the deployed handler and under the one that is typed. */

import { useEffect, useState } from "preact/hooks";
import { LoadingView } from "../parts/loading_view.tsx";
import { connection } from "../shell/connection.ts";
import { useLoaded } from "../shell/loaded.ts";
import { runInSlices } from "../shell/slices.ts";
import type { Handlers } from "../shell/stream_fold.ts";
import {
  compareFolds,
  type Comparison,
  editHandlers,
  type Folded,
  type HandlerFault,
} from "./compare_folds.ts";
import { HandlerFaults } from "./handler_faults.tsx";
import { readStream, type StreamSample } from "./stream_sample.ts";
import { TwoStates } from "./two_states.tsx";

/** So long after the last key, what is typed is folded. */
const PAUSE_MS = 250;

export interface TriedStreamProps {
  readonly type: string;
  readonly event: string;
  /** The deployed ones. */
  readonly handlers: Handlers;
  /** The edited one, as text. */
  readonly text: string;
  readonly isChanged: boolean;
  /** The id of the stream. */
  readonly stream: string;
}

export function TriedStream(props: TriedStreamProps) {
  const { type, stream } = props;
  const { db } = connection.value;
  const sample = useLoaded((signal) => readStream(type, stream, signal), [db, type, stream]);
  return (
    <LoadingView of={sample}>
      {(found) =>
        found.length === 0
          ? <p class="note warning">{type} has no stream with this id.</p>
          : <Tried {...props} sample={found} />}
    </LoadingView>
  );
}

interface Tried {
  readonly comparison?: Folded | Comparison;
  readonly faults?: readonly HandlerFault[];
}

function Tried(props: TriedStreamProps & { readonly sample: StreamSample }) {
  const { comparison, faults, isBehind } = useComparison(props);
  const { sample: { events, length }, type, stream } = props;
  return (
    <>
      {events.length < length && (
        <p class="note warning">
          Only the first {events.length.toLocaleString("en")} of {length.toLocaleString("en")}{" "}
          events are folded here.
        </p>
      )}
      {faults !== undefined && <HandlerFaults faults={faults} />}
      {comparison !== undefined && (
        <TwoStates
          comparison={comparison}
          type={type}
          stream={stream}
          isOld={isBehind || faults !== undefined}
        />
      )}
    </>
  );
}

/** Folds what is typed, in slices; what is typed meanwhile ends it. */
function useComparison(
  { handlers, event, text, isChanged, sample }: TriedStreamProps & {
    readonly sample: StreamSample;
  },
): Tried & { readonly isBehind: boolean } {
  const [tried, setTried] = useState<Tried & { readonly of?: string }>({});
  useEffect(() => {
    const ending = new AbortController();
    const timer = setTimeout(() => void run(ending.signal), PAUSE_MS);
    return () => {
      clearTimeout(timer);
      ending.abort();
    };

    async function run(signal: AbortSignal): Promise<void> {
      const edited = isChanged
        ? editHandlers(handlers, event, text)
        : { ok: true, handlers } as const;
      if (!edited.ok) {
        return setTried(({ comparison }) => ({ comparison, faults: edited.faults, of: text }));
      }
      const compared = compareFolds(handlers, edited.handlers, sample.events, event);
      const tell = (comparison: Folded | Comparison) => setTried({ comparison, of: text });
      const last = await runInSlices(compared, signal, tell);
      if (last !== undefined) tell(last);
    }
  }, [handlers, event, text, sample]);
  return { ...tried, isBehind: tried.of !== text };
}
