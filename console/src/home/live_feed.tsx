/**
 * The events of the environment as they come. Many at once are drawn together, once a frame. A
 * paused feed goes on later from where it was, so nothing is missing.
 */

import { useEffect, useRef, useState } from "preact/hooks";
import { type AnyTypes, DaybookError, type FeedEvent, type Refusal } from "@daybook/client";
import { RefusalNote } from "../parts/refusal_note.tsx";
import { TimeText } from "../parts/time_text.tsx";
import { connection } from "../shell/connection.ts";
import { hrefOfStream } from "../shell/stream_address.ts";

/** The newest ones that are kept and shown. */
const KEPT_MAX = 200;

type Item = FeedEvent<AnyTypes>;

export function LiveFeed() {
  const { db } = connection.value;
  const [items, setItems] = useState<readonly Item[]>([]);
  const [seen, setSeen] = useState(0);
  const [isPaused, setPaused] = useState(false);
  const [refusal, setRefusal] = useState<Refusal>();
  const cursor = useRef<string>("now");

  useEffect(() => {
    if (isPaused) return;
    const ending = new AbortController();
    void follow(ending.signal);
    return () => ending.abort();
  }, [db, isPaused]);

  async function follow(signal: AbortSignal): Promise<void> {
    let fresh: Item[] = [];
    let count = 0;
    let frame = 0;
    const draw = () => {
      frame = 0;
      const [come, more] = [fresh, count];
      fresh = [];
      count = 0;
      setItems((known) => [...come.toReversed(), ...known].slice(0, KEPT_MAX));
      setSeen((seen) => seen + more);
    };
    try {
      setRefusal(undefined);
      // Notices, because the first one has a cursor before anything has happened.
      for await (const item of db.$feed({ from: cursor.current, notices: true, signal })) {
        cursor.current = item.cursor;
        if (item.type !== "event") continue;
        count++;
        fresh.push(item);
        // A page that is not looked at has no frames, and would keep all that comes.
        if (fresh.length >= 2 * KEPT_MAX) fresh = fresh.slice(-KEPT_MAX);
        if (frame === 0) frame = requestAnimationFrame(draw);
      }
    } catch (error) {
      if (!(error instanceof DaybookError)) throw error;
      if (!signal.aborted) setRefusal(error.refusal);
    }
  }

  return (
    <section aria-label="Live">
      <div class="row">
        <h2>Live</h2>
        <button type="button" onClick={() => setPaused(!isPaused)}>
          {isPaused ? "Go on" : "Pause"}
        </button>
        <span class="quiet" role="status">
          {isPaused ? "Paused." : `${seen.toLocaleString("en")} events since this page was opened.`}
        </span>
      </div>
      {refusal !== undefined && <RefusalNote refusal={refusal} />}
      {items.length > 0 && (
        <ol class="feed" aria-label="Events as they came, newest first" tabIndex={0}>
          {items.map(({ cursor, id, event }) => (
            <li key={cursor}>
              <strong>{event.type}</strong> <a href={hrefOfStream(event.key, id)}>{event.key}</a>
              {" "}
              <TimeText at={event.metadata.timestamp} />
            </li>
          ))}
        </ol>
      )}
    </section>
  );
}
