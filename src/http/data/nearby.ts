/** Aggregates around a point. See docs/reference/geo.md. */

import { isLatitude, isLongitude, LATITUDE_MAX, LONGITUDE_MAX } from "../../domain/geo/point.ts";
import { limits } from "../../domain/limits.ts";
import { accept } from "../../domain/refusal.ts";
import { sendOk } from "../answer.ts";
import { read } from "../endpoint.ts";
import { answer, array, BOOLEAN, COUNT, object, type Schema, TEXT } from "../openapi/schema.ts";
import { badQuery, PAGE_QUERY, type Parameter } from "../parameter.ts";
import { sendRefusal } from "../reply.ts";

const { nearbyRadiusMetresMin: RADIUS_MIN, nearbyRadiusMetresMax: RADIUS_MAX } = limits;

const RADIUS: Parameter<number> = {
  schema: {
    type: "number",
    minimum: RADIUS_MIN,
    maximum: RADIUS_MAX,
    default: limits.nearbyRadiusMetresDefault,
    description: "Metres",
  },
  decode(text, name) {
    const radius = toNumber(text) ?? limits.nearbyRadiusMetresDefault;
    if (radius >= RADIUS_MIN && radius <= RADIUS_MAX) return accept(radius);
    return badQuery(name, `must be a number of metres from ${RADIUS_MIN} to ${RADIUS_MAX}`);
  },
};

export const findNearby = read({
  id: "findNearby",
  summary: "The aggregates of one type around a point, the nearest first",
  query: {
    lat: degrees(LATITUDE_MAX, isLatitude),
    lng: degrees(LONGITUDE_MAX, isLongitude),
    radius: RADIUS,
    limit: PAGE_QUERY.limit,
  },
  answers: {
    200: answer({
      data: array(object({
        id: TEXT,
        distance: { type: "number", minimum: 0, description: "Metres" },
        point: object({ lat: degreesUpTo(LATITUDE_MAX), lng: degreesUpTo(LONGITUDE_MAX) }),
      })),
      limit: COUNT,
      truncated: BOOLEAN,
      "limit_clamped?": { const: true },
    }),
  },
  errors: ["aggregate_type_unknown", "not_found"],
  async run(edge, call, tenant, { query: { lat, lng, ...how } }) {
    const { requestId, params: [aggregateType = ""] } = call;
    const request = { aggregateType, point: { lat, lng }, ...how };
    const outcome = await edge.service.data.findNearby(tenant, request);
    if (!outcome.ok) return sendRefusal(requestId, outcome.refusal);
    const { entries: data, limit, limitClamped, truncated } = outcome.value;
    const limit_clamped = limitClamped ? true : undefined;
    return sendOk(requestId, { data, limit, truncated, limit_clamped });
  },
});

function degreesUpTo(most: number): Schema {
  return { type: "number", minimum: -most, maximum: most };
}

function degrees(most: number, fits: (value: unknown) => value is number): Parameter<number> {
  const what = `a number from -${most} to ${most}`;
  return {
    schema: degreesUpTo(most),
    isRequired: true,
    decode(text, name) {
      const value = toNumber(text);
      if (fits(value)) return accept(value);
      return badQuery(name, value === undefined ? `is required: ${what}` : `must be ${what}`);
    },
  };
}

/** For example `52.5`, `-0.25`, `1e3`. */
const NUMBER = /^-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$/;

/** NaN if the text is not a number; undefined if the parameter is absent. */
function toNumber(text: string | null): number | undefined {
  if (text === null) return undefined;
  return NUMBER.test(text) ? Number(text) : NaN;
}
