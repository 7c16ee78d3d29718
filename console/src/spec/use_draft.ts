/**
 * The draft in the editor: keeps it, and says what is wrong with it. It is read when the typing
 * pauses; the server is asked a little later, in a dry run.
 */

import { useEffect, useRef, useState } from "preact/hooks";
import type { Refusal } from "@daybook/client";
import type { Admin } from "@daybook/client/admin";
import { connection } from "../shell/connection.ts";
import type { CodeEditor } from "./code_editor.ts";
import { type Finding, serverFindings, textFinding, violationsOf } from "./findings.ts";
import { keepDraft, readDraft } from "./kept_draft.ts";
import { readSpecText, type SpecText } from "./spec_text.ts";

const READ_AFTER_MS = 300;
const ASK_AFTER_MS = 500;

export type GoodText = SpecText & { readonly ok: true };

export interface Checked {
  readonly findings: readonly Finding[];
  /** The text, if it is a document. */
  readonly text?: GoodText;
  readonly state: "typing" | "checking" | "faulty" | "accepted" | "refused";
  /** Why the server could not judge it. */
  readonly refusal?: Refusal;
}

export interface Draft {
  readonly checked: Checked;
  /** For the element that the editor is put into. */
  readonly host: { current: HTMLDivElement | null };
  readonly editor: { readonly current: CodeEditor | undefined };
  /** The editor could not be loaded. */
  readonly isBroken: boolean;
  /** Replaces the text, and forgets the kept one. */
  reset(text: string): void;
  /** It is deployed: there is nothing to keep. */
  forget(): void;
}

export function useDraft(admin: Admin, deployed: string): Draft {
  const [checked, setChecked] = useState<Checked>({ findings: [], state: "typing" });
  const [isBroken, setBroken] = useState(false);
  const host = useRef<HTMLDivElement>(null);
  const editor = useRef<CodeEditor | undefined>(undefined);
  const original = useRef(deployed);
  original.current = deployed;

  useEffect(() => {
    const { instanceId } = connection.peek();
    const mine = createWork(
      admin,
      show,
      (text) => keepDraft(instanceId, text === original.current ? undefined : text),
    );
    let isOver = false;
    function show(next: Checked): void {
      setChecked(next);
      const marks = next.findings.map(({ severity, message, range }) => (
        { severity, message, ...range }
      ));
      if (isJudged(next)) editor.current?.mark(marks);
    }
    void import("./code_editor.ts").then(({ openCodeEditor }) => {
      if (isOver) return;
      editor.current = openCodeEditor(host.current!, {
        label: "Spec as JSON",
        text: readDraft(instanceId) ?? original.current,
        onChange: () => mine.changed(() => editor.current!.text()),
      });
      mine.changed(() => editor.current!.text());
    }, () => setBroken(true));
    return () => {
      isOver = true;
      mine.end();
      editor.current?.close();
      editor.current = undefined;
    };
  }, [admin]);

  return {
    checked,
    host,
    editor,
    isBroken,
    reset(text) {
      original.current = text;
      editor.current?.setText(text);
    },
    forget: () => keepDraft(connection.peek().instanceId, undefined),
  };
}

/** While somebody types or the server is asked, the marks stay as they are. */
function isJudged({ state }: Checked): boolean {
  return state !== "typing" && state !== "checking";
}

interface Work {
  changed(text: () => string): void;
  end(): void;
}

function createWork(
  admin: Admin,
  show: (checked: Checked) => void,
  keep: (text: string) => void,
): Work {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let asking = new AbortController();
  let last: Checked = { findings: [], state: "typing" };

  function tell(checked: Checked): void {
    last = checked;
    show(checked);
  }

  function stop(): void {
    clearTimeout(timer);
    asking.abort();
  }

  function read(typed: string): void {
    keep(typed);
    const text = readSpecText(typed);
    if (!text.ok) return tell({ findings: [textFinding(text)], state: "faulty" });
    // What was found before stays in sight until the server has answered.
    tell({ findings: last.findings, state: "checking", text });
    timer = setTimeout(() => void ask(text), ASK_AFTER_MS);
  }

  async function ask(text: GoodText): Promise<void> {
    const { signal } = asking = new AbortController();
    const answer = await admin.deploy(text.spec, { dry_run: true, signal });
    if (signal.aborted) return;
    const findings = serverFindings(text, answer);
    if (answer.ok) return tell({ findings, state: "accepted", text });
    const isAboutSpec = violationsOf(answer) !== undefined;
    tell({ findings, state: "refused", text, ...(!isAboutSpec && { refusal: answer }) });
  }

  return {
    changed(text) {
      stop();
      if (last.state !== "typing") tell({ findings: last.findings, state: "typing" });
      timer = setTimeout(() => read(text()), READ_AFTER_MS);
    },
    end: stop,
  };
}
