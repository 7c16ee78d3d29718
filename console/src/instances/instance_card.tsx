/** One instance: its id, its tier, and its usage in each environment. */

import { useState } from "preact/hooks";
import type { Instance } from "@daybook/client/admin";
import { Confirm } from "../parts/confirm.tsx";
import { CopyButton } from "../parts/copy_button.tsx";
import { Choice } from "../parts/field.tsx";
import { LoadingView } from "../parts/loading_view.tsx";
import { connection, instancesChanged } from "../shell/connection.ts";
import { useLoaded } from "../shell/loaded.ts";
import { ENVIRONMENTS } from "./environments.tsx";
import { TIERS } from "./instance_table.tsx";
import { UsageMeter } from "./usage_meter.tsx";

export function InstanceCard({ id }: { id: string }) {
  const { admin } = connection.value;
  const instance = useLoaded(
    (signal) => admin!.instances.get(id, { signal }),
    [admin, id, instancesChanged.value],
  );
  return (
    <LoadingView of={instance}>
      {(found) => (
        <section class="card" aria-label={`Instance ${found.slug}`}>
          <h2>{found.slug}</h2>
          <p>
            <code class="wrap">{id}</code> <CopyButton label="Copy the id" text={id} />
          </p>
          <dl class="usage">
            {ENVIRONMENTS.map((environment) => (
              <div key={environment}>
                <dt>{environment}</dt>
                <dd>
                  <UsageMeter id={id} environment={environment} reason={found.tier} />
                </dd>
              </div>
            ))}
          </dl>
          <TierForm instance={found} />
        </section>
      )}
    </LoadingView>
  );
}

function TierForm({ instance: { id, slug, tier } }: { instance: Instance }) {
  const { admin } = connection.value;
  const [wanted, setWanted] = useState(tier);
  const [isAsking, setAsking] = useState(false);

  async function change() {
    const answer = await admin!.instances.setTier(id, wanted);
    if (answer.ok) instancesChanged.value++;
    return answer;
  }

  return (
    <div class="row">
      <Choice
        label="Tier"
        value={wanted}
        options={TIERS.map((name) => [name, name])}
        onChange={(name) => setWanted(name as Instance["tier"])}
      />
      <button type="button" disabled={wanted === tier} onClick={() => setAsking(true)}>
        Change the tier
      </button>
      {isAsking && (
        <Confirm
          title={`Change the tier of ${slug} to ${wanted}?`}
          verb="Change the tier"
          // A tier is that of all environments.
          environment="production"
          onConfirm={change}
          onClose={() => setAsking(false)}
        >
          <p>
            The tier says how many requests in a minute and how many events in a month are allowed,
            in production, too. With a smaller tier, writes may be refused at once.
          </p>
        </Confirm>
      )}
    </div>
  );
}
