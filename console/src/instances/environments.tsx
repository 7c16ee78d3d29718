/** Which environment of the instance a list shows; the choice is part of the address. */

import type { Environment } from "@daybook/client/admin";
import { Choice } from "../parts/field.tsx";
import { about } from "../shell/connection.ts";
import { place, setQuery } from "../shell/router.ts";

export const ENVIRONMENTS: readonly Environment[] = ["production", "staging", "test"];

/** The environment of the address, or else that of the server's address. */
export function shownEnvironment(): Environment {
  const { environment } = place.value.query;
  return ENVIRONMENTS.find((name) => name === environment) ?? about.value!.environment;
}

export function EnvironmentChoice() {
  return (
    <div class="row">
      <Choice
        label="Environment"
        value={shownEnvironment()}
        options={ENVIRONMENTS.map((name) => [name, name])}
        onChange={(environment) => setQuery({ environment })}
      />
    </div>
  );
}
