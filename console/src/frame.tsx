/** What stands around every page: the environment, the instance, the navigation. */

import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { DaybookError, type Refusal } from "@daybook/client";
import type { Instance } from "@daybook/client/admin";
import { EmptyState } from "./parts/empty_state.tsx";
import { Choice } from "./parts/field.tsx";
import { RefusalNote } from "./parts/refusal_note.tsx";
import {
  type About,
  chooseInstance,
  connection,
  instancesChanged,
  nameInstance,
} from "./shell/connection.ts";
import { type PageRow, PAGES } from "./pages.ts";
import { goTo, hrefOf, instanceInPlace, place, setQuery } from "./shell/router.ts";
import { credentials, signOut } from "./shell/session.ts";
import { type Theme, theme, THEMES } from "./shell/theme.ts";

/** An operator may see more instances than a list can hold. */
const INSTANCES_LISTED_MAX = 500;

export function Frame({ about }: { about: About }) {
  const [segment = ""] = place.value.path;
  const page = PAGES.find((row) => row.segment === segment);
  const instances = useInstances();
  useEffect(() => {
    document.title = `${page?.title ?? "Not found"} - Daybook ${about.environment}`;
  }, [page, about]);
  return (
    <div class={`frame ${about.environment}`}>
      <a class="skip" href="#main" onClick={focusMain}>Skip to the page</a>
      <header class="top">
        <a class="brand" href={hrefOf([])}>Daybook</a>
        <span class={`environment ${about.environment}`}>{about.environment}</span>
        <InstanceChoice instances={instances.found} />
        <span class="grow" />
        <a href="../_docs/" target="_blank" rel="noreferrer">Documentation</a>
        <ThemeChoice />
        <button type="button" onClick={leave}>Sign out</button>
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
        {instances.refusal !== undefined && <RefusalNote refusal={instances.refusal} />}
        {instances.found?.length === 0 && <NoInstance />}
        {page === undefined ? <NotFound /> : <PageView key={page.segment} page={page} />}
      </main>
    </div>
  );
}

/** Whoever signs in next may see other instances. */
function leave(): void {
  signOut();
  setQuery({ instance: undefined });
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
  if (!isInstanceKnown()) return null;
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

/** The instances that a token may see, as far as they are known. */
interface Instances {
  readonly found?: readonly Instance[];
  readonly refusal?: Refusal;
}

/** Asks for the instances of the token. A key has its own, so there is nothing to ask. */
function useInstances(): Instances {
  const [instances, setInstances] = useState<Instances>({});
  const { token } = credentials.value;
  useEffect(() => setInstances({}), [token]);
  useEffect(() => {
    if (token === undefined) return;
    const ending = new AbortController();
    void listInstances(ending.signal).then((answer) => {
      if (ending.signal.aborted) return;
      setInstances(answer);
      chooseInstance(token, answer.found ?? []);
    });
    return () => ending.abort();
  }, [token, instancesChanged.value]);
  const { found } = instances;
  useEffect(() => {
    if (found !== undefined && found.length > 0) nameInstance();
  }, [found, instanceInPlace.value]);
  return instances;
}

async function listInstances(signal: AbortSignal): Promise<Instances> {
  const found: Instance[] = [];
  try {
    for await (const instance of connection.peek().admin!.instances.list({ signal })) {
      found.push(instance);
      if (found.length === INSTANCES_LISTED_MAX) break;
    }
    return { found };
  } catch (error) {
    if (!(error instanceof DaybookError)) throw error;
    return { refusal: error.refusal };
  }
}

function InstanceChoice({ instances }: { instances: readonly Instance[] | undefined }) {
  if (instances === undefined || instances.length === 0) return null;
  if (instances.length === 1) return <span class="quiet">{instances[0]!.slug}</span>;
  return (
    <Choice
      label="Instance"
      value={connection.value.instanceId ?? ""}
      options={instances.map(({ id, slug }) => [id, slug])}
      onChange={(instance) => goTo(place.peek().path.slice(0, 1), { instance })}
    />
  );
}

function NoInstance() {
  return (
    <EmptyState
      title="No instance yet"
      command={'curl -X POST -H "Authorization: Bearer $TOKEN" -H "Content-Type: application/json" ' +
        `-d '{"slug": "shop", "tier": "pro"}' ${location.origin}/api/instances`}
    >
      This token sees no instance. An operator whose token is not restricted can create one.
    </EmptyState>
  );
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
