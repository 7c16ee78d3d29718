/**
 * Sends an example of the documentation to the server that serves the page, with a key that the
 * reader enters. It sends nothing by itself, and to no other origin. The key stays in this tab.
 */

import { button, element } from "./element.ts";
import type { ExampleRequest } from "./example_request.ts";

const NAMES = { key: "API key", operator: "Operator token", none: "" } as const;
/** Variables of the shell. */
const VARIABLE = /\$([A-Z][A-Z0-9_]*)/g;
const SHOWN_CHARACTERS_MAX = 50_000;
const KEPT_PREFIX = "daybook.docs.";

export function sendPanel(requests: readonly ExampleRequest[], server: URL): HTMLElement {
  const panel = element("div", { class: "send" });
  const place = element("div");
  if (requests.length > 1) {
    const choice = element("select", { "aria-label": "Which request" });
    for (const [at, { method, path }] of requests.entries()) {
      choice.append(element("option", { value: String(at) }, `${method} ${path}`));
    }
    choice.addEventListener(
      "change",
      () => place.replaceChildren(requestForm(requests[Number(choice.value)]!, server)),
    );
    panel.append(choice);
  }
  place.append(requestForm(requests[0]!, server));
  panel.append(place);
  return panel;
}

function requestForm(request: ExampleRequest, server: URL): HTMLElement {
  const { method, credential } = request;
  const form = element("form");
  const fields = new Map<string, HTMLInputElement>();
  const add = (name: string, label: string, isSecret = false) => {
    const input = element("input", {
      type: isSecret ? "password" : "text",
      autocomplete: "off",
      spellcheck: "false",
      required: true,
    });
    input.value = kept(name);
    fields.set(name, input);
    form.append(element("label", {}, label, input));
  };
  if (credential !== "none") add(credential, NAMES[credential], true);
  for (const name of variablesOf(request)) add(name, `$${name}`);
  const path = element("input", { type: "text", spellcheck: "false", required: true });
  path.value = request.path;
  form.append(element("label", {}, "Path", path));
  const body = request.body === undefined
    ? undefined
    : element("textarea", { rows: "6", spellcheck: "false" });
  if (body !== undefined) {
    body.value = request.body!;
    form.append(element("label", {}, "Body", body));
  }
  const answer = element("div", { class: "answer", role: "status" });
  const send = element("button", { type: "submit", class: "primary" }, `Send ${method}`);
  const target = element("span", { class: "quiet" }, `to ${server.origin}`);
  const row = element("p", { class: "send-row" }, send, target);
  if (credential !== "none") row.append(button("Forget the key", () => forget(fields, credential)));
  form.append(row, answer);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const values = new Map([...fields].map(([name, { value }]) => [name, value.trim()]));
    for (const [name, value] of values) keep(name, value);
    const filled = {
      ...request,
      path: fill(path.value, values),
      ...(body !== undefined && { body: fill(body.value, values) }),
    };
    send.disabled = true;
    sendRequest(filled, server, values.get(credential))
      .then((shown) => answer.replaceChildren(...shown))
      .finally(() => send.disabled = false);
  });
  return form;
}

async function sendRequest(
  { method, path, headers, body }: ExampleRequest,
  server: URL,
  secret: string | undefined,
): Promise<Node[]> {
  const url = new URL(path.replace(/^\/+/, ""), server);
  // A path such as `https://elsewhere/` would be an address of its own.
  if (url.origin !== server.origin) return [fault("Only this server can be asked")];
  const startedMs = performance.now();
  try {
    const response = await fetch(url, {
      method,
      headers: { ...headers, ...(secret !== undefined && { authorization: `Bearer ${secret}` }) },
      body,
      redirect: "error",
      credentials: "omit",
      signal: AbortSignal.timeout(30_000),
    });
    const text = await response.text();
    const tookMs = Math.round(performance.now() - startedMs);
    const line = `${response.status} ${response.statusText} in ${tookMs} ms`;
    const status = element("p", { class: response.ok ? "good" : "fault" }, line);
    return [status, element("pre", { tabindex: "0" }, element("code", {}, pretty(text)))];
  } catch (error) {
    return [fault((error as Error).message)];
  }
}

function fault(message: string): HTMLElement {
  return element("p", { class: "fault" }, message);
}

function pretty(text: string): string {
  if (text.length > SHOWN_CHARACTERS_MAX) return `${text.slice(0, SHOWN_CHARACTERS_MAX)} …`;
  try {
    return JSON.stringify(JSON.parse(text), undefined, 2);
  } catch {
    return text;
  }
}

function variablesOf({ path, body = "" }: ExampleRequest): Set<string> {
  return new Set([...`${path}\n${body}`.matchAll(VARIABLE)].map(([, name]) => name!));
}

function fill(text: string, values: ReadonlyMap<string, string>): string {
  return text.replaceAll(VARIABLE, (all, name: string) => values.get(name) ?? all);
}

function kept(name: string): string {
  return sessionStorage.getItem(KEPT_PREFIX + name) ?? "";
}

function keep(name: string, value: string): void {
  sessionStorage.setItem(KEPT_PREFIX + name, value);
}

function forget(fields: ReadonlyMap<string, HTMLInputElement>, name: string): void {
  sessionStorage.removeItem(KEPT_PREFIX + name);
  fields.get(name)!.value = "";
}
