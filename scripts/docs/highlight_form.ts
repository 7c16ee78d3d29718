/**
 * What the build uses of `highlight.js`, in place of its own types: those would bring the types of
 * browsers into every file that is checked with this one. Its languages are modules too, which the
 * build passes on without looking at them.
 */

interface Highlighter {
  registerLanguage(name: string, language: unknown): void;
  highlight(text: string, options: { language: string; ignoreIllegals: boolean }): {
    readonly value: string;
  };
}

declare const highlighter: Highlighter;
export { highlighter as default };
