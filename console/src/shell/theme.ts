/** Light, dark, or as the system has it. The choice is kept in the browser. */

import { effect, signal } from "@preact/signals";

export const THEMES = ["system", "light", "dark"] as const;
export type Theme = typeof THEMES[number];

const KEPT_UNDER = "daybook.theme";

export const theme = signal<Theme>(THEMES.find((name) => name === kept()) ?? "system");

/** Storage may be refused by the settings of the browser. */
function kept(): string | null {
  try {
    return localStorage.getItem(KEPT_UNDER);
  } catch {
    return null;
  }
}

/** Keeps the document's theme equal to the choice. */
export function applyTheme(): void {
  effect(() => {
    const { value } = theme;
    document.documentElement.dataset.theme = value;
    try {
      localStorage.setItem(KEPT_UNDER, value);
    } catch {
      // Then the choice lasts as long as the page.
    }
  });
}
