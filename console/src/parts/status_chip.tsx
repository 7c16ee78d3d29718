/** A state as a word with a colour. The word alone says it; the colour helps to find it. */

export type Tone = "good" | "busy" | "warning" | "danger" | "neutral";

const TONES: Readonly<Record<string, Tone>> = {
  active: "busy",
  broken: "danger",
  building: "busy",
  cancelled: "neutral",
  closed: "good",
  compensated: "warning",
  compensating: "warning",
  complete: "good",
  completed: "good",
  dead: "danger",
  delivered: "good",
  failed: "danger",
  fired: "good",
  half_open: "warning",
  open: "danger",
  pending: "busy",
  ready: "good",
  running: "busy",
  waiting: "busy",
};

export function toneOf(state: string): Tone {
  return TONES[state] ?? "neutral";
}

export function StatusChip({ state, tone }: { state: string; tone?: Tone }) {
  return <span class={`chip ${tone ?? toneOf(state)}`}>{state.replaceAll("_", " ")}</span>;
}
