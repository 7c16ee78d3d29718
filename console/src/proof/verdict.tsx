/** What a verification has found, step by step, with the values that it has compared. */

import type { VerifyCheck } from "@daybook/client/verify";
import { JsonView } from "../parts/json_view.tsx";
import { ShortText } from "../parts/short_text.tsx";
import { StatusChip, type Tone } from "../parts/status_chip.tsx";
import type { Judged } from "./evidence.ts";
import { stepRows, type StepState } from "./steps.ts";

const TONES: Readonly<Record<StepState, Tone>> = {
  "holds": "good",
  "does not hold": "danger",
  "not reached": "neutral",
  "asked in part": "neutral",
  "not asked": "neutral",
};

/** What a refusal says may quote the document, so it has no end of its own. */
const MESSAGE_SHOWN = 600;
const HASH = /^[0-9a-f]{32,}$/;
const HASH_SHOWN = 16;
const TEXT_SHOWN = 100;

export function Verdict({ judged }: { judged: Judged }) {
  const { kind, verdict, checks } = judged;
  const proven = kind === "bundle"
    ? "Proven: this event was stored as shown."
    : "Proven: this stream was erased as shown.";
  return (
    <>
      <div class={`note ${verdict.ok ? "good" : "danger"}`} role="status">
        {verdict.ok ? <strong>{proven}</strong> : (
          <>
            <strong>Not proven:</strong>{" "}
            <ShortText text={verdict.message} what="the reason" shown={MESSAGE_SHOWN} />
          </>
        )}
      </div>
      <ol class="steps" aria-label="Steps">
        {stepRows(judged).map(({ step, shows, state }) => (
          <li key={step}>
            {shows} <StatusChip state={state} tone={TONES[state]} />
            {checks.filter((check) => check.step === step).map((check, at) => (
              <Check key={at} check={check} />
            ))}
          </li>
        ))}
      </ol>
      <Proven judged={judged} />
    </>
  );
}

function Check({ check: { what, computed, expected } }: { check: VerifyCheck }) {
  return (
    <div class="check">
      <span class="quiet">{what}</span>
      <span>
        computed <Value text={computed} what={`the computed ${what}`} />
      </span>
      <span>
        expected <Value text={expected} what={`the expected ${what}`} />
      </span>
    </div>
  );
}

function Value({ text, what }: { text: string; what: string }) {
  return <ShortText text={text} what={what} shown={HASH.test(text) ? HASH_SHOWN : TEXT_SHOWN} />;
}

function Proven({ judged }: { judged: Judged }) {
  if (judged.kind === "receipt") {
    if (!judged.verdict.ok) return null;
    return (
      <>
        <p>Only this is proven:</p>
        <JsonView value={judged.verdict.erasure} />
      </>
    );
  }
  if (!judged.verdict.ok) return null;
  const { stream, index, event, anchor } = judged.verdict.proven;
  const { created_at, instance_id, environment } = anchor;
  return (
    <>
      <p>
        Event {index} of <bdi>{stream}</bdi>
        {created_at === undefined
          ? ". The anchor is of format 1, which signs neither time nor instance."
          : (
            <>
              , anchored on <time>{created_at}</time> by the instance{" "}
              <code class="wrap">{instance_id}</code>, environment {environment}.
            </>
          )} Only this is proven:
      </p>
      <JsonView value={event} />
    </>
  );
}
