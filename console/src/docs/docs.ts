/**
 * What a page of the documentation can do beyond being read: a menu on narrow screens, the theme,
 * copying code, the search, and sending examples. The last two are loaded when they are asked for.
 */

import { button, element } from "./element.ts";
import { keepTheme, keptTheme, THEMES } from "./kept_theme.ts";
import { addSearch } from "./search_box.ts";
import type { ExampleRequest } from "./example_request.ts";

const COPIED_MS = 1_500;
/** Where a server has the documentation. Published elsewhere, it has no server to send to. */
const SERVED_AT = "/_docs/";

const root = new URL(
  document.querySelector<HTMLElement>("script[data-up]")!.dataset.up || "./",
  location.href,
);

addThemeButton();
addMenu();
addSearch(document.querySelector<HTMLElement>("search")!, root);
addCodeButtons();
followHeadings();

function addThemeButton(): void {
  const label = () => `Theme: ${keptTheme()}`;
  const made = button(label(), () => {
    const next = THEMES[(THEMES.indexOf(keptTheme()) + 1) % THEMES.length]!;
    keepTheme(next);
    made.textContent = label();
  }, { class: "theme" });
  document.querySelector(".top")!.append(made);
}

function addMenu(): void {
  const link = document.querySelector<HTMLAnchorElement>(".menu-link")!;
  document.documentElement.classList.add("scripted");
  link.setAttribute("role", "button");
  link.setAttribute("aria-expanded", "false");
  link.addEventListener("click", (event) => {
    event.preventDefault();
    const isOpen = document.documentElement.classList.toggle("menu-open");
    link.setAttribute("aria-expanded", String(isOpen));
  });
  const current = document.querySelector<HTMLElement>(".menu [aria-current]");
  const menu = document.querySelector<HTMLElement>(".menu")!;
  if (current !== null && current.offsetTop > menu.clientHeight - 100) {
    menu.scrollTop = current.offsetTop - menu.clientHeight / 2;
  }
}

function addCodeButtons(): void {
  const isServed = root.pathname.endsWith(SERVED_AT);
  for (const block of document.querySelectorAll<HTMLElement>(".code")) {
    const bar = element("div", { class: "code-bar" });
    bar.append(copyButton(block.querySelector("code")!));
    if (isServed && block.dataset.requests !== undefined) {
      const requests = JSON.parse(block.dataset.requests) as ExampleRequest[];
      bar.prepend(sendButton(block, requests));
    }
    block.prepend(bar);
  }
}

function copyButton(code: HTMLElement): HTMLButtonElement {
  const made = button("Copy", async () => {
    await navigator.clipboard.writeText(code.textContent ?? "");
    made.textContent = "Copied";
    setTimeout(() => made.textContent = "Copy", COPIED_MS);
  });
  return made;
}

function sendButton(block: HTMLElement, requests: readonly ExampleRequest[]): HTMLButtonElement {
  let panel: HTMLElement | undefined;
  const made = button("Send…", async () => {
    if (panel === undefined) {
      const { sendPanel } = await import("./send.ts");
      panel = sendPanel(requests, new URL("../", root));
      block.append(panel);
    } else panel.hidden = !panel.hidden;
    made.setAttribute("aria-expanded", String(!panel.hidden));
  }, { "aria-expanded": "false" });
  return made;
}

/** Marks, in the list beside the page, the heading that is being read. */
function followHeadings(): void {
  const links = new Map(
    [...document.querySelectorAll<HTMLAnchorElement>(".on-page a")]
      .map((link) => [decodeURIComponent(link.hash.slice(1)), link]),
  );
  if (links.size === 0) return;
  const headings = [...links.keys()].map((id) => document.getElementById(id)!);
  const mark = () => {
    const read = headings.findLast((each) => each.getBoundingClientRect().top < innerHeight / 4);
    for (const [id, link] of links) {
      if (id === (read ?? headings[0]!).id) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    }
  };
  addEventListener("scroll", mark, { passive: true });
  mark();
}
