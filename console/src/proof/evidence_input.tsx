/** Takes evidence as a file that is chosen or dropped, or as text that is pasted. */

import { useId, useState } from "preact/hooks";
import { EVIDENCE_BYTES_MAX, type EvidenceDocument } from "./evidence.ts";

const TOO_LARGE = "is larger than 16 MB, so it is not the proof of one event.";

export interface EvidenceInputProps {
  readonly onEvidence: (document: EvidenceDocument) => void;
}

export function EvidenceInput({ onEvidence }: EvidenceInputProps) {
  const id = useId();
  const [text, setText] = useState("");
  const [told, setTold] = useState<string>();
  const [isOver, setOver] = useState(false);

  async function take(file: File | undefined): Promise<void> {
    if (file === undefined) return;
    if (file.size > EVIDENCE_BYTES_MAX) {
      return setTold(`${file.name} ${TOO_LARGE}`);
    }
    try {
      // As bytes, because text that is not UTF-8 is refused.
      onEvidence(new Uint8Array(await file.arrayBuffer()));
      setTold(`Read from ${file.name}.`);
    } catch {
      setTold(`${file.name} could not be read.`);
    }
  }

  function takeText(text: string): void {
    if (text.trim() === "") return setTold("Choose or drop a file, or paste its text first.");
    if (text.length > EVIDENCE_BYTES_MAX) return setTold(`The text ${TOO_LARGE}`);
    onEvidence(text);
    setTold("Read from the text.");
  }

  function drop(event: DragEvent): void {
    event.preventDefault();
    setOver(false);
    const [file] = event.dataTransfer?.files ?? [];
    if (file !== undefined) void take(file);
    else takeText(event.dataTransfer?.getData("text") ?? "");
  }

  function over(event: DragEvent): void {
    event.preventDefault();
    setOver(true);
  }

  function submit(event: SubmitEvent): void {
    event.preventDefault();
    takeText(text);
  }

  return (
    <form
      class={`evidence ${isOver ? "over" : ""}`}
      aria-label="Evidence"
      onSubmit={submit}
      onDragOver={over}
      onDragLeave={() => setOver(false)}
      onDrop={drop}
    >
      <div class="row">
        <label class="button">
          Choose a file
          <input
            class="unseen"
            type="file"
            accept="application/json,.json"
            onChange={(event) => {
              void take(event.currentTarget.files?.[0]);
              event.currentTarget.value = "";
            }}
          />
        </label>
        <span class="quiet">or drop it here, or paste its text:</span>
      </div>
      <div class="field">
        <label for={id}>Text of the bundle or receipt</label>
        <textarea
          id={id}
          class="mono"
          rows={4}
          spellcheck={false}
          autocomplete="off"
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
        />
      </div>
      <div class="row">
        <button type="submit" class="primary">Verify the text</button>
        <span role="status">{told}</span>
      </div>
    </form>
  );
}
