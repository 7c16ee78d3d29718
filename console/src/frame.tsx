/** What stands around every page: the environment, the instance, the navigation. */

import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { Instance } from "@daybook/client/admin";
import { Choice } from "./parts/field.tsx";
import { type About, chooseInstance, connection } from "./shell/connection.ts";
import { type PageRow, PAGES } from "./pages.ts";
import { goTo, hrefOf, place } from "./shell/router.ts";
import { credentials, signOut } from "./shell/session.ts";
import { type Theme, theme, THEMES } from "./shell/theme.ts";

/** An operator may see more instances than a list can hold. */
const INSTANCES_LISTED_MAX = 500;

export function Frame({ about }: { about: About }) {
  const [segment = ""] = place.value.path;
  const page = PAGES.find((row) => row.segment === segment);
  useEffect(() => {
    document.title = `${page?.title ?? "Not found"} - Daybook ${about.environment}`;
  }, [page, about]);
  return (
    <div class={`frame ${about.environment}`}>
      <a class="skip" href="#main" onClick={focusMain}>Skip to the page</a>
      <header class="top">
        <a class="brand" href={hrefOf([])}>Daybook</a>
        <span class={`environment ${about.environment}`}>{about.environment}</span>
        <InstanceChoice />
        <span class="grow" />
        <ThemeChoice />
        <button type="button" onClick={() => signOut()}>Sign out</button>
      </header>
      <nav aria-label="Pages">
        {PAGES.filter(isUsable).map((row) => (
          <a
            key={row.segment}
            href={hrefOf(row.segment === "" ? [] : [row.segment])}
            aria-current={row === page ? "page" : undefined}
          >
            {row.title}
          </a>
        ))}
      </nav>
      <main id="main" tabIndex={-1}>
        {page === undefined ? <NotFound /> : <PageView key={`${page.segment}`} page={page} />}
      </main>
    </div>
  );
}

function isUsable({ operatorOnly }: PageRow): boolean {
  return operatorOnly !== true || credentials.value.token !== undefined;
}

/** The fragment of the address names the view, so the link may not change it. */
function focusMain(event: MouseEvent): void {
  event.preventDefault();
  document.querySelector<HTMLElement>("#main")?.focus();
}

function PageView({ page }: { page: PageRow }) {
  const [loaded, setLoaded] = useState<{ component: ComponentType }>();
  const [fault, setFault] = useState<string>();
  useEffect(() => {
    if (page.isLazy !== true) return;
    const load = page.component as () => Promise<ComponentType>;
    load().then(
      (component) => setLoaded({ component }),
      () => setFault("A part of this page could not be loaded. Reload it."),
    );
  }, [page]);
  // Pages ask for data as soon as they are there, which needs to know whose.
  if (!isInstanceKnown()) return <p class="quiet" role="status">Loading</p>;
  if (page.operatorOnly && credentials.value.token === undefined) return <NeedsOperator />;
  if (fault !== undefined) return <p class="note danger" role="alert">{fault}</p>;
  const Component = page.isLazy ? loaded?.component : page.component as ComponentType;
  if (Component === undefined) return <p class="quiet" role="status">Loading</p>;
  return <Component key={connection.value.instanceId} />;
}

function isInstanceKnown(): boolean {
  return credentials.value.token === undefined || connection.value.instanceId !== undefined;
}

function NeedsOperator() {
  return (
    <div class="empty">
      <h1>For operators</h1>
      <p>This page needs an operator token. You have signed in with an API key.</p>
      <button type="button" onClick={() => signOut()}>Sign in with a token</button>
    </div>
  );
}

function NotFound() {
  return (
    <div class="empty">
      <h1>No such page</h1>
      <p>The address names a page that the console does not have.</p>
      <a href={hrefOf([])}>Home</a>
    </div>
  );
}

/** Nothing to choose with a key, which has its instance. */
function InstanceChoice() {
  const { admin, instanceId } = connection.value;
  const [instances, setInstances] = useState<readonly Instance[]>();
  const { token } = credentials.value;
  useEffect(() => {
    if (admin === undefined) return;
    const ending = new AbortController();
    void listInstances(ending.signal).then((found) => {
      if (ending.signal.aborted) return;
      setInstances(found);
      chooseInstance(found[0]?.id);
    });
    return () => ending.abort();
  }, [token]);
  if (admin === undefined || instances === undefined) return null;
  if (instances.length <= 1) {
    return <span class="quiet">{instances[0]?.slug ?? "no instance"}</span>;
  }
  return (
    <Choice
      label="Instance"
      value={instanceId ?? ""}
      options={instances.map(({ id, slug }) => [id, slug])}
      onChange={(instance) => goTo(place.peek().path.slice(0, 1), { instance })}
    />
  );
}

async function listInstances(signal: AbortSignal): Promise<Instance[]> {
  const found: Instance[] = [];
  try {
    for await (const instance of connection.peek().admin!.instances.list({ signal })) {
      found.push(instance);
      if (found.length === INSTANCES_LISTED_MAX) break;
    }
  } catch {
    // The page says what the server refuses; without instances there is nothing to choose.
  }
  return found;
}

function ThemeChoice() {
  return (
    <Choice
      label="Theme"
      value={theme.value}
      options={THEMES.map((name) => [name, name])}
      onChange={(name) => theme.value = name as Theme}
    />
  );
}
