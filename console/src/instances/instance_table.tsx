/** All instances that the token covers, and a form for a new one. */

import { useState } from "preact/hooks";
import type { Instance } from "@daybook/client/admin";
import { Choice, Field } from "../parts/field.tsx";
import { PagedTable } from "../parts/paged_table.tsx";
import { RefusalNote } from "../parts/refusal_note.tsx";
import { TimeText } from "../parts/time_text.tsx";
import type { Refusal } from "@daybook/client";
import { about, connection, instancesChanged } from "../shell/connection.ts";
import { goTo, hrefOf } from "../shell/router.ts";
import { UsageMeter } from "./usage_meter.tsx";

/** The usage of each row is a request of its own. */
const PAGE_INSTANCES = 20;

export const TIERS: readonly Instance["tier"][] = ["free", "hobby", "pro", "scale", "unlimited"];

export function InstanceTable() {
  const { admin, instanceId } = connection.value;
  const { environment } = about.value!;
  return (
    <>
      <PagedTable<Instance>
        caption="Instances"
        keyOf={({ id }) => id}
        load={(start, signal) =>
          admin!.instances.listPage({ start, limit: PAGE_INSTANCES, signal })}
        isSteady
        reasons={[admin, instancesChanged.value]}
        columns={[
          {
            title: "Name",
            cell: ({ id, slug }) => (
              <a
                href={hrefOf(["instances"], { instance: id })}
                aria-current={id === instanceId ? "true" : undefined}
              >
                {slug}
              </a>
            ),
          },
          { title: "Tier", cell: ({ tier }) => tier },
          {
            title: `Events this month in ${environment}`,
            cell: ({ id, tier }) => <UsageMeter id={id} environment={environment} reason={tier} />,
          },
          { title: "Created", cell: ({ created_at }) => <TimeText at={created_at} /> },
        ]}
        empty={null}
      />
      <NewInstance />
    </>
  );
}

function NewInstance() {
  const { admin } = connection.value;
  const [slug, setSlug] = useState("");
  const [tier, setTier] = useState<Instance["tier"]>("unlimited");
  const [refusal, setRefusal] = useState<Refusal>();

  async function create(event: SubmitEvent): Promise<void> {
    event.preventDefault();
    const answer = await admin!.instances.create({ slug: slug.trim(), tier });
    if (!answer.ok) return setRefusal(answer as Refusal);
    setRefusal(undefined);
    setSlug("");
    instancesChanged.value++;
    goTo(["instances"], { instance: answer.id });
  }

  return (
    <details>
      <summary>New instance</summary>
      <form class="row" aria-label="New instance" onSubmit={create}>
        <Field
          label="Name"
          value={slug}
          required
          hint="Small letters, digits and hyphens; it cannot be changed later"
          fault={refusal?.path === "slug" ? refusal.error : undefined}
          onInput={(text) => setSlug(text)}
        />
        <Choice
          label="Tier"
          value={tier}
          options={TIERS.map((name) => [name, name])}
          onChange={(name) => setTier(name as Instance["tier"])}
        />
        <button type="submit">Create</button>
      </form>
      {refusal !== undefined && <RefusalNote refusal={refusal} />}
    </details>
  );
}
