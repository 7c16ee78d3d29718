/** `#/instances`: all instances, and the keys or imports of the one that is chosen. */

import { connection } from "../shell/connection.ts";
import { hrefOf, place } from "../shell/router.ts";
import { Imports } from "./imports.tsx";
import { InstanceCard } from "./instance_card.tsx";
import { InstanceTable } from "./instance_table.tsx";
import { Keys } from "./keys.tsx";

const VIEWS = [["keys", "API keys"], ["imports", "Imports"]] as const;

export function InstancesPage() {
  const { instanceId } = connection.value;
  const { view = "keys" } = place.value.query;
  return (
    <>
      <h1>Instances</h1>
      <p class="quiet">
        An instance is a store of its own, with three environments. Its tier says how much its keys
        may do.
      </p>
      <InstanceTable />
      {instanceId !== undefined && (
        <>
          <InstanceCard id={instanceId} />
          <nav class="tabs" aria-label="Views of the instance">
            {VIEWS.map(([name, title]) => (
              <a
                key={name}
                href={hrefOf(["instances"], { view: name === "keys" ? undefined : name })}
                aria-current={view === name ? "page" : undefined}
              >
                {title}
              </a>
            ))}
          </nav>
          {view === "imports" ? <Imports /> : <Keys />}
        </>
      )}
    </>
  );
}
