/** The aggregates of one type around a point, nearest first, as a table. */

import type { NearbyAnswer } from "@daybook/client";
import { DataTable } from "../parts/data_table.tsx";
import { EmptyState } from "../parts/empty_state.tsx";
import { Field } from "../parts/field.tsx";
import { LoadingView } from "../parts/loading_view.tsx";
import { connection } from "../shell/connection.ts";
import { useLoaded } from "../shell/loaded.ts";
import { hrefOf, place, setQuery } from "../shell/router.ts";
import { callsOf } from "../shell/settled.ts";

/** As many as one answer may have. */
const NEARBY_MAX = 200;
const FIELDS = ["type", "lat", "lng", "radius"] as const;

export function Nearby() {
  const { type, lat, lng, radius = "1000" } = place.value.query;

  function search(event: SubmitEvent): void {
    event.preventDefault();
    const form = new FormData(event.currentTarget as HTMLFormElement);
    setQuery(Object.fromEntries(FIELDS.map((name) => [name, String(form.get(name)).trim()])));
  }

  return (
    <>
      <form class="row" aria-label="Point" onSubmit={search}>
        <Field label="Type" name="type" value={type ?? ""} required />
        <Field label="Latitude" name="lat" value={lat ?? ""} placeholder="52.52" required />
        <Field label="Longitude" name="lng" value={lng ?? ""} placeholder="13.405" required />
        <Field label="Metres around it" name="radius" value={radius} required />
        <button type="submit" class="primary">Search</button>
      </form>
      {type !== undefined && lat !== undefined && lng !== undefined
        ? (
          <Found
            key={[type, lat, lng, radius].join(" ")}
            type={type}
            lat={Number(lat)}
            lng={Number(lng)}
            radius={Number(radius)}
          />
        )
        : (
          <p class="quiet">
            Finds the aggregates of a type whose events have a point, each at its newest one.
          </p>
        )}
    </>
  );
}

interface FoundProps {
  readonly type: string;
  readonly lat: number;
  readonly lng: number;
  readonly radius: number;
}

function Found({ type, lat, lng, radius }: FoundProps) {
  const { db } = connection.value;
  const found = useLoaded<NearbyAnswer>(
    (signal) => callsOf(db, type).near({ lat, lng, radius, limit: NEARBY_MAX, signal }),
    [db, type, lat, lng, radius],
  );
  return (
    <LoadingView of={found}>
      {({ data, truncated }) =>
        data.length === 0
          ? <EmptyState title="Nothing is near">A larger radius finds more.</EmptyState>
          : (
            <>
              <DataTable
                caption={`Near ${lat}, ${lng}`}
                keyOf={({ id }) => id}
                rows={data}
                columns={[
                  {
                    title: "Stream",
                    cell: ({ id }) => <a href={hrefOf(["streams", type, id])}>{type}:{id}</a>,
                  },
                  {
                    title: "Metres away",
                    isNumber: true,
                    cell: ({ distance }) =>
                      distance.toLocaleString("en", { maximumFractionDigits: 1 }),
                  },
                  { title: "Latitude", isNumber: true, cell: ({ point }) => point.lat },
                  { title: "Longitude", isNumber: true, cell: ({ point }) => point.lng },
                ]}
              />
              {truncated && (
                <p class="note">There are more within the radius: choose a smaller one.</p>
              )}
            </>
          )}
    </LoadingView>
  );
}
