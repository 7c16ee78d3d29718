/**
 * An editor of JSON, which marks faults and completes what is typed. It lives in a shadow tree:
 * only there does its library add its styles in a way that the policy of the page allows.
 */

import {
  autocompletion,
  type CompletionContext,
  completionKeymap,
  type CompletionResult,
} from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { json } from "@codemirror/lang-json";
import { bracketMatching, indentOnInput, syntaxHighlighting } from "@codemirror/language";
import { type Diagnostic, lintGutter, lintKeymap, setDiagnostics } from "@codemirror/lint";
import { EditorState } from "@codemirror/state";
import {
  drawSelection,
  EditorView,
  highlightSpecialChars,
  keymap,
  lineNumbers,
} from "@codemirror/view";
import { colours, look } from "./editor_look.ts";
import { completionsAt, EAGER_CHARACTERS_MAX } from "./spec_completion.ts";

export interface Mark {
  readonly from: number;
  readonly to: number;
  readonly severity: "error" | "warning";
  readonly message: string;
}

export interface CodeEditor {
  text(): string;
  setText(text: string): void;
  /** Replaces all marks. */
  mark(marks: readonly Mark[]): void;
  /** From 1. */
  lineAt(offset: number): number;
  /** Puts the cursor there, into view, and takes the focus. */
  goTo(offset: number): void;
  close(): void;
}

export interface CodeEditorOptions {
  readonly label: string;
  readonly text: string;
  /** Called with each change. It must be quick. */
  readonly onChange: () => void;
}

export function openCodeEditor(
  host: HTMLElement,
  { label, text, onChange }: CodeEditorOptions,
): CodeEditor {
  // A host keeps its shadow tree for good, so each editor has a host of its own.
  const inner = document.createElement("div");
  host.append(inner);
  const root = inner.attachShadow({ mode: "open" });
  const stateOf = (doc: string) => EditorState.create({ doc, extensions: extensions() });
  function extensions() {
    return [
      lineNumbers(),
      lintGutter(),
      history(),
      highlightSpecialChars(),
      drawSelection(),
      indentOnInput(),
      bracketMatching(),
      json(),
      syntaxHighlighting(colours),
      look,
      autocompletion({ override: [complete], icons: false }),
      // Tab stays the way out of the editor.
      keymap.of([...completionKeymap, ...lintKeymap, ...historyKeymap, ...defaultKeymap]),
      EditorView.contentAttributes.of({ "aria-label": label, spellcheck: "false", tabindex: "0" }),
      EditorView.updateListener.of(({ docChanged }) => {
        if (docChanged) onChange();
      }),
    ];
  }
  const view = new EditorView({ state: stateOf(text), parent: root, root });

  return {
    text: () => view.state.doc.toString(),
    setText(changed) {
      view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: changed } });
    },
    mark(marks) {
      const end = view.state.doc.length;
      const diagnostics = marks.map((mark): Diagnostic => {
        const from = Math.min(mark.from, end);
        const to = Math.min(Math.max(mark.to, from), end);
        return { from, to, severity: mark.severity, message: mark.message };
      });
      view.dispatch(setDiagnostics(view.state, diagnostics));
    },
    lineAt: (offset) => view.state.doc.lineAt(Math.min(offset, view.state.doc.length)).number,
    goTo(offset) {
      const anchor = Math.min(offset, view.state.doc.length);
      const effects = EditorView.scrollIntoView(anchor, { y: "center" });
      view.dispatch({ selection: { anchor }, effects });
      view.focus();
    },
    close() {
      view.destroy();
      inner.remove();
    },
  };
}

function complete({ state, pos, explicit }: CompletionContext): CompletionResult | null {
  if (!explicit && state.doc.length > EAGER_CHARACTERS_MAX) return null;
  const before = state.sliceDoc(Math.max(0, pos - 1), pos);
  if (!explicit && !/["\w$.[]/.test(before)) return null;
  const completions = completionsAt(state.doc.toString(), pos);
  if (completions === undefined || completions.found.length === 0) return null;
  const { from, to, found } = completions;
  const isQuoted = state.sliceDoc(from, from + 1) === '"' && pos > from;
  return {
    from: isQuoted ? from + 1 : from,
    options: found.map(({ text, label, detail, isKey }) => ({
      label,
      detail,
      type: isKey ? "property" : "constant",
      apply: (view) =>
        view.dispatch({
          changes: { from, to: Math.max(to, view.state.selection.main.head), insert: text },
          selection: { anchor: from + text.length },
          userEvent: "input.complete",
        }),
    })),
    validFor: /^[\w$.*[\]]*$/,
  };
}
