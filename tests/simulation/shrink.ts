/** Shrinks a failing world to the smallest one of its seed that still fails, and describes it. */

import type { Weather } from "./weather.ts";
import type { EndedWorld } from "./world.ts";

/** For each part of the weather the values to try instead, simplest first. */
const SIMPLER: { readonly [Name in keyof Weather]: readonly Weather[Name][] } = {
  operationsEach: [1, 2, 3, 4, 5, 6],
  clients: [1, 2],
  machines: [1, 2],
  deathsInCalls: [0, 1],
  deathsInTime: [0, 1],
  outages: [0, 1],
  clockJumps: [0, 1],
  deploys: [0, 1],
  poison: ["none", "passing"],
  faultShare: [0, 0.03, 0.15],
  skewMsMax: [0, 200, 1_500],
  latencyMsMax: [1, 3, 20],
  thinkMsMax: [50, 300],
  isDirect: [false],
  entrance: ["service"],
  receivers: ["none", "well", "flaky"],
  hasProjections: [false],
  hasAnchors: [false],
};
/** Worlds tried; each takes some ten milliseconds. */
const TRIES_MAX = 300;

/** `fails` decides whether a world fails; `weather` does. The result fails too. */
export async function shrinkWeather(
  weather: Weather,
  fails: (weather: Weather) => Promise<boolean>,
): Promise<Weather> {
  const names = Object.keys(SIMPLER) as (keyof Weather)[];
  let smallest = weather;
  let tries = 0;
  for (let isSmaller = true; isSmaller;) {
    isSmaller = false;
    for (const name of names) {
      const values: readonly unknown[] = SIMPLER[name];
      const known = values.indexOf(smallest[name]);
      for (const value of known < 0 ? values : values.slice(0, known)) {
        if (tries++ === TRIES_MAX) return smallest;
        const smaller = { ...smallest, [name]: value };
        if (!await fails(smaller)) continue;
        smallest = smaller;
        isSmaller = true;
        break;
      }
    }
  }
  return smallest;
}

/** The weather, what clients did and were answered, every commit and delivery: one line each. */
export function describeWorld(world: EndedWorld): string {
  const { weather, journal, commits, arrivals, errors } = world;
  const machines = [...new Set([...commits.values()].map(({ machine }) => machine))];
  return [
    `in ${JSON.stringify(weather)}`,
    ...journal.deploys.map(({ spec, fromVersion }) =>
      `spec ${spec} is deployed, from version ${fromVersion} on`
    ),
    ...journal.writes.map(({ events, heard, places }) => {
      const sent = events.map(({ key, type, data }) => `${key} ${type} ${JSON.stringify(data)}`);
      const at = places.map(({ key, first }) => `${key} from ${first} on`).join(", ");
      return `a client writes ${sent.join(" and ")}: ${heard}${at === "" ? "" : ` at ${at}`}`;
    }),
    ...journal.deletes.map(({ scheduledId, heard }) => `a client cancels ${scheduledId}: ${heard}`),
    ...[...commits].map(([version, { atMs, machine, process }]) =>
      `${atMs.toFixed(1)} ms: version ${version}, by process ${process} on machine ` +
      `${machines.indexOf(machine) + 1}`
    ),
    ...arrivals.map(({ webhook: { url, headers }, version, process, status }) =>
      `after version ${version}, process ${process} tells ${url} of ${headers["webhook-id"]}: ` +
      `${status}`
    ),
    ...errors.map((error) => `logged: ${error}`),
  ].join("\n");
}
