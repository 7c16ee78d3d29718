/**
 * The entry of `verify.html`: verifies a bundle or receipt in one file that needs no server and no
 * network. It has the verification and the step view of the console, and nothing else of it.
 */

import { render } from "preact";
import { useMemo, useState } from "preact/hooks";
import { Field } from "../parts/field.tsx";
import { type EvidenceDocument, judge, judgeForm } from "../proof/evidence.ts";
import { EvidenceInput } from "../proof/evidence_input.tsx";
import { Verdict } from "../proof/verdict.tsx";
import { type Meant, NOTHING_MEANT, readMeant } from "./meant.ts";

function App() {
  const [document, setDocument] = useState<EvidenceDocument>();
  const [meant, setMeant] = useState<Meant>(NOTHING_MEANT);
  return (
    <main>
      <h1>Verify evidence of Daybook</h1>
      <p class="quiet">
        This file works without a server and without a network, and its policy forbids it to ask for
        anything. It verifies the bundle that proves one event, or the receipt of an erasure.
      </p>
      <section class="card" aria-label="1. The public key">
        <h2>1. The public key</h2>
        <MeantFields meant={meant} onChange={(change) => setMeant({ ...meant, ...change })} />
      </section>
      <section class="card" aria-label="2. The evidence">
        <h2>2. The evidence</h2>
        <EvidenceInput onEvidence={setDocument} />
      </section>
      <section class="card" aria-label="3. The verdict">
        <h2>3. The verdict</h2>
        <Judgement document={document} meant={meant} />
      </section>
    </main>
  );
}

interface MeantFieldsProps {
  readonly meant: Meant;
  readonly onChange: (change: Partial<Meant>) => void;
}

function MeantFields({ meant, onChange }: MeantFieldsProps) {
  const read = readMeant(meant);
  const faultOf = (field: keyof Meant) => read.faults?.[field];
  return (
    <>
      <Field
        label="Public key of the instance"
        hint="From a source that you trust, not from the evidence. Several with spaces between them."
        value={meant.keys}
        fault={faultOf("keys")}
        onInput={(keys) => onChange({ keys })}
      />
      <details>
        <summary>Which evidence is meant</summary>
        <p class="quiet">
          What you leave empty is not checked: then compare it with what the verdict shows. All
          environments of an instance sign with the same key.
        </p>
        <div class="row">
          <Field
            label="Environment"
            value={meant.environment}
            onInput={(environment) => onChange({ environment })}
          />
          <Field
            label="Instance"
            value={meant.instanceId}
            onInput={(instanceId) => onChange({ instanceId })}
          />
          <Field
            label="Stream"
            placeholder="order:7KD2M9QXA"
            value={meant.stream}
            onInput={(stream) => onChange({ stream })}
          />
          <Field
            label="Number of the event"
            hint="The first is 0"
            value={meant.index}
            fault={faultOf("index")}
            onInput={(index) => onChange({ index })}
          />
        </div>
      </details>
    </>
  );
}

function Judgement({ document, meant }: { document?: EvidenceDocument; meant: Meant }) {
  const judged = useMemo(() => {
    if (document === undefined) return undefined;
    const { options } = readMeant(meant);
    return judgeForm(document) ?? (options && judge(document, options));
  }, [document, meant]);
  if (document === undefined) return <p>Choose, drop or paste the evidence first.</p>;
  if (judged === undefined) {
    return (
      <p class="note warning" role="status">
        No verdict yet: the public key is missing, or a field above has a fault.
      </p>
    );
  }
  return <Verdict judged={judged} />;
}

render(<App />, document.querySelector("#app")!);
