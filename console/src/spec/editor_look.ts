/** The colours and sizes of the editor: those of the page, whose names reach into its tree. */

import { HighlightStyle } from "@codemirror/language";
import { EditorView } from "@codemirror/view";
import { tags } from "@lezer/highlight";

export const colours = HighlightStyle.define([
  { tag: tags.propertyName, color: "var(--accent)" },
  { tag: tags.string, color: "var(--good)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--busy)" },
  { tag: tags.invalid, color: "var(--danger)" },
]);

const POPUP = {
  backgroundColor: "var(--raised)",
  border: "1px solid var(--line)",
  color: "var(--ink)",
};

export const look = EditorView.theme({
  "&": {
    border: "1px solid var(--line)",
    borderRadius: "var(--radius)",
    backgroundColor: "var(--paper)",
    color: "var(--ink)",
    fontSize: "0.9rem",
  },
  "&.cm-focused": { outline: "2px solid var(--accent)", outlineOffset: "2px" },
  ".cm-scroller": { height: "min(60vh, 40rem)", fontFamily: "var(--mono)", overflow: "auto" },
  ".cm-content": { caretColor: "var(--ink)" },
  ".cm-cursor, .cm-dropCursor": { borderLeftColor: "var(--ink)" },
  ".cm-gutters": {
    borderRight: "1px solid var(--line)",
    backgroundColor: "var(--raised)",
    color: "var(--ink-quiet)",
  },
  ".cm-selectionLayer .cm-selectionBackground": { backgroundColor: "var(--changed) !important" },
  "&.cm-focused .cm-matchingBracket": { backgroundColor: "var(--changed)" },
  ".cm-specialChar": { color: "var(--danger)" },
  ".cm-tooltip": POPUP,
  // All keys of a place at once: a list that scrolls cannot be reached with the keyboard alone.
  ".cm-tooltip.cm-tooltip-autocomplete > ul": { maxHeight: "20em" },
  ".cm-tooltip-autocomplete > ul > li[aria-selected]": {
    backgroundColor: "var(--accent)",
    color: "var(--accent-ink)",
  },
  ".cm-completionDetail": { fontStyle: "normal", opacity: "0.85" },
  ".cm-diagnostic": { fontFamily: "var(--sans)", whiteSpace: "pre-wrap" },
  ".cm-diagnostic-error": { borderLeftColor: "var(--danger)" },
  ".cm-diagnostic-warning": { borderLeftColor: "var(--warning)" },
  ".cm-lintRange-error, .cm-lintRange-warning": { backgroundImage: "none" },
  ".cm-lintRange-error": { textDecoration: "underline wavy var(--danger)" },
  ".cm-lintRange-warning": { textDecoration: "underline wavy var(--warning)" },
  ".cm-panels": POPUP,
});
