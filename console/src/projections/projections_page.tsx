/** `#/projections`: tables made of states, SQL over them, and what is near a point. */

import type { ComponentType } from "preact";
import { hrefOf, place } from "../shell/router.ts";
import { Nearby } from "./nearby.tsx";
import { NotebookView } from "./notebook_view.tsx";
import { ProjectionList } from "./projection_list.tsx";
import { ProjectionTable } from "./projection_table.tsx";

interface Tab {
  readonly name: string;
  readonly title: string;
  readonly view: ComponentType;
}

const TABS: readonly Tab[] = [
  { name: "tables", title: "Tables", view: ProjectionList },
  { name: "sql", title: "SQL", view: NotebookView },
  { name: "near", title: "Near a point", view: Nearby },
];

export function ProjectionsPage() {
  const [, name = TABS[0]!.name, table] = place.value.path;
  const tab = TABS.find((row) => row.name === name) ?? TABS[0]!;
  const View = tab.view;
  return (
    <>
      <h1>Projections</h1>
      <nav class="tabs" aria-label="Views of projections">
        {TABS.map(({ name, title }) => (
          <a
            key={name}
            href={hrefOf(["projections", name])}
            aria-current={name === tab.name ? "page" : undefined}
          >
            {title}
          </a>
        ))}
      </nav>
      {tab === TABS[0] && table !== undefined
        ? <ProjectionTable key={table} name={table} />
        : <View key={tab.name} />}
    </>
  );
}
