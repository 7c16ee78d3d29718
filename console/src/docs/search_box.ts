/** The search: a field with a list of what was found. Its words are loaded on its first use. */

import { element } from "./element.ts";
import type { Found, Search } from "./search.ts";

const SHOWN_MAX = 12;

export function addSearch(place: HTMLElement, root: URL): void {
  const input = element("input", {
    type: "search",
    placeholder: "Search   /",
    "aria-label": "Search the documentation",
    role: "combobox",
    "aria-expanded": "false",
    "aria-controls": "found",
    "aria-autocomplete": "list",
    autocomplete: "off",
  });
  const list = element("ul", { id: "found", role: "listbox", "aria-label": "Found", hidden: true });
  place.append(input, list);
  place.hidden = false;
  let loading: Promise<Search> | undefined;
  const load = () => loading ??= import("./search.ts").then(({ loadSearch }) => loadSearch(root));

  input.addEventListener("focus", load, { once: true });
  input.addEventListener("input", async () => {
    const asked = input.value;
    const search = await load();
    if (asked === input.value) show(search(asked).slice(0, SHOWN_MAX));
  });
  input.addEventListener("keydown", (event) => {
    if (event.key === "Escape") close();
    else if (event.key === "ArrowDown" || event.key === "ArrowUp") move(event);
    else if (event.key === "Enter") (chosen() ?? list.querySelector("a"))?.click();
  });
  document.addEventListener("keydown", (event) => {
    const isTyping = (event.target as HTMLElement).closest("input, textarea, select") !== null;
    if (isTyping || (event.key !== "/" && !(event.key === "k" && event.ctrlKey))) return;
    event.preventDefault();
    input.focus();
  });
  document.addEventListener("click", ({ target }) => {
    if (!place.contains(target as Node)) close();
  });

  function chosen(): HTMLAnchorElement | null {
    return list.querySelector<HTMLAnchorElement>("[aria-selected=true] a");
  }

  function show(found: readonly Found[]): void {
    const rows = found.map(({ address, title, heading, excerpt }, at) => {
      const link = element("a", { href: new URL(address, root).href, tabindex: "-1" });
      const where = element("span", { class: "found-page" }, title);
      const what = heading === title ? [where] : [where, " › ", heading];
      link.append(element("strong", {}, ...what), element("span", {}, ...excerpt.map(marked)));
      link.addEventListener("click", close);
      return element("li", { role: "option", id: `found-${at}`, "aria-selected": "false" }, link);
    });
    const nothing = element("li", { class: "quiet" }, "Nothing found");
    list.replaceChildren(...rows.length === 0 && input.value.trim() !== "" ? [nothing] : rows);
    setOpen(input.value.trim() !== "");
  }

  function move(event: KeyboardEvent): void {
    const rows = [...list.querySelectorAll<HTMLElement>("[role=option]")];
    if (rows.length === 0) return;
    event.preventDefault();
    const at = rows.findIndex((row) => row.getAttribute("aria-selected") === "true");
    const step = event.key === "ArrowDown" ? 1 : -1;
    const next = rows[(at + step + rows.length + (at < 0 && step < 0 ? 1 : 0)) % rows.length]!;
    for (const row of rows) row.setAttribute("aria-selected", String(row === next));
    input.setAttribute("aria-activedescendant", next.id);
    next.scrollIntoView({ block: "nearest" });
  }

  function close(): void {
    setOpen(false);
  }

  function setOpen(isOpen: boolean): void {
    list.hidden = !isOpen;
    input.setAttribute("aria-expanded", String(isOpen));
    input.removeAttribute("aria-activedescendant");
  }
}

function marked({ text, isMatch }: Found["excerpt"][number]): Node | string {
  return isMatch ? element("mark", {}, text) : text;
}
