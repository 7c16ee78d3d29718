/** What the stored data says to a new spec: events that it would refuse, states that it changes. */

import type { DataCheck } from "@daybook/client/admin";
import { shownPath } from "../parts/shown_path.ts";
import { shortJson } from "../parts/short_json.ts";
import { type Change, changesBetween } from "../shell/state_changes.ts";
import { hrefOfStream } from "../shell/stream_address.ts";

/** Of one state; the rest is counted. */
const FIELDS_SHOWN = 10;
const VALUE_CHARACTERS_MAX = 200;

interface RefusedExample {
  readonly key: string;
  readonly id: string;
  readonly details: readonly { readonly path: string; readonly message: string }[];
}

type ChangedExample = DataCheck["changed"][number]["examples"][number] & {
  readonly error?: string;
};

export function DataCheckView({ check }: { check: DataCheck }) {
  const { events, aggregates, refused, guards, changed, complete } = check;
  return (
    <section aria-label="Stored data">
      <h3>What the stored data says</h3>
      <p>
        {counted(events, "stored event")} and {counted(aggregates, "aggregate")} were tried.
        {!complete && " A limit ended the check before all was seen."}
      </p>
      {refused.length === 0 && <p>No stored event would be refused.</p>}
      {refused.map(({ event_type, count, examples }) => (
        <div key={event_type} class="note warning">
          <p>
            <strong>{event_type}</strong>: {counted(count, "event")} would be refused if written now
          </p>
          <ul>
            {(examples as readonly RefusedExample[]).map(({ key, id, details }) => (
              <li key={`${key} ${id}`}>
                <a href={hrefOfStream(key, id)}>{key}, event {Number(id)}</a>:{" "}
                <bdi>
                  {details.map(({ path, message }) =>
                    `${path} ${message}`
                  ).join(", ")}
                </bdi>
              </li>
            ))}
          </ul>
        </div>
      ))}
      {guards?.failed.map(({ event_type, guard, message, count, examples }) => (
        <div key={`${event_type} ${guard}`} class="note warning">
          <p>
            <strong>{event_type}</strong>, guard {guard + 1}, <bdi>{message}</bdi>:{" "}
            {counted(count, "event")} would not have passed
          </p>
          <ul>
            {examples.map(({ key, id }) => (
              <li key={`${key} ${id}`}>
                <a href={hrefOfStream(key, id)}>{key}, event {Number(id)}</a>
              </li>
            ))}
          </ul>
        </div>
      ))}
      {guards !== undefined && guards.untried > 0 && (
        <p>{counted(guards.untried, "guard")} on states of modules could not be tried.</p>
      )}
      {changed.length === 0 && <p>No state changes.</p>}
      {changed.map(({ type, count, examples }) => (
        <div key={type} class="note">
          <p>
            <strong>{type}</strong>: {counted(count, "state")} {count === 1 ? "changes" : "change"}
          </p>
          <ul>
            {examples.map((example) => <ChangedState key={example.key} example={example} />)}
          </ul>
        </div>
      ))}
    </section>
  );
}

function ChangedState({ example }: { example: ChangedExample }) {
  const { key, before, after, error } = example;
  const changes = changesBetween(before, after);
  const more = changes.length - FIELDS_SHOWN;
  return (
    <li>
      <a href={hrefOfStream(key)}>{key}</a> {error && <bdi class="fault">{error}</bdi>}
      <ul>
        {changes.slice(0, FIELDS_SHOWN).map((change, at) => <ChangedField key={at} {...change} />)}
      </ul>
      {more > 0 && <p class="quiet">And {more} more.</p>}
    </li>
  );
}

function ChangedField({ path, before, after }: Change) {
  return (
    <li>
      <bdi class="mono wrap">{shownPath(path)}</bdi>: <bdi class="mono">{shortText(before)}</bdi>
      {" "}
      becomes <bdi class="mono">{shortText(after)}</bdi>
    </li>
  );
}

function shortText(value: unknown): string {
  return value === undefined ? "nothing" : shortJson(value, VALUE_CHARACTERS_MAX);
}

/** `1 event`, `2 events`. */
function counted(number: number, word: string): string {
  return `${number.toLocaleString("en")} ${word}${number === 1 ? "" : "s"}`;
}
