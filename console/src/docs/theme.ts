/** Before anything is drawn: the theme that was chosen, here or in the console. */

import { keptTheme } from "./kept_theme.ts";

const theme = keptTheme();
if (theme !== "system") document.documentElement.dataset.theme = theme;
