/** `#/reactions`: what events have set off: timers, sagas, deliveries, and what failed. */

import type { ComponentType } from "preact";
import { hrefOf, place } from "../shell/router.ts";
import { credentials } from "../shell/session.ts";
import { Errors } from "./errors.tsx";
import { Listeners, ListenerView } from "./listeners.tsx";
import { Pending } from "./pending.tsx";
import { SagaDeadlines } from "./saga_deadlines.tsx";
import { Sagas, SagaView } from "./sagas.tsx";
import { Timers } from "./timers.tsx";

interface Tab {
  readonly name: string;
  readonly title: string;
  readonly list: ComponentType;
  /** One of the things in the list, by the next segment of the address. */
  readonly one?: ComponentType<{ readonly id: string }>;
  readonly operatorOnly?: true;
}

const TABS: readonly Tab[] = [
  { name: "scheduled", title: "Scheduled", list: Scheduled },
  { name: "sagas", title: "Sagas", list: Sagas, one: SagaView },
  { name: "listeners", title: "Listeners", list: Listeners, one: ListenerView },
  { name: "errors", title: "Errors", list: Errors },
  { name: "pending", title: "Pending", list: Pending, operatorOnly: true },
];

/** All that will happen by itself at a time. */
function Scheduled() {
  return (
    <>
      <Timers />
      <SagaDeadlines />
    </>
  );
}

export function ReactionsPage() {
  const [, name = TABS[0]!.name, id] = place.value.path;
  const isOperator = credentials.value.token !== undefined;
  const tabs = TABS.filter(({ operatorOnly }) => isOperator || operatorOnly !== true);
  const tab = tabs.find((row) => row.name === name) ?? tabs[0]!;
  const One = id === undefined ? undefined : tab.one;
  const List = tab.list;
  return (
    <>
      <h1>Reactions</h1>
      <nav class="tabs" aria-label="Kinds of reactions">
        {tabs.map(({ name, title }) => (
          <a
            key={name}
            href={hrefOf(["reactions", name])}
            aria-current={name === tab.name ? "page" : undefined}
          >
            {title}
          </a>
        ))}
      </nav>
      {One === undefined ? <List key={tab.name} /> : <One key={id} id={id!} />}
    </>
  );
}
