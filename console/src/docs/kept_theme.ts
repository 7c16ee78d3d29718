/** The theme that was chosen. The console of the same server keeps it in the same place. */

export const THEMES = ["system", "light", "dark"] as const;
export type Theme = typeof THEMES[number];

const KEPT_UNDER = "daybook.theme";

export function keptTheme(): Theme {
  try {
    return THEMES.find((name) => name === localStorage.getItem(KEPT_UNDER)) ?? "system";
  } catch {
    // The browser keeps nothing for this page.
    return "system";
  }
}

export function keepTheme(theme: Theme): void {
  document.documentElement.dataset.theme = theme;
  try {
    localStorage.setItem(KEPT_UNDER, theme);
  } catch {
    return;
  }
}
