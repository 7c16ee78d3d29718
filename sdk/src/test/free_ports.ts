/** Free ports of this machine: three in a row, one for each environment of a server. */

import { createServer } from "node:net";

const FIRST = 24_000;
const COUNT = 12_000;

/** The first of three ports on which nobody listens now. */
export async function threeFreePorts(random: () => number = Math.random): Promise<number> {
  for (let tries = 0; tries < 100; tries++) {
    const first = FIRST + 3 * Math.floor(random() * (COUNT / 3));
    if (await isFree(first) && await isFree(first + 1) && await isFree(first + 2)) return first;
  }
  throw new Error("There are no three free ports in a row");
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(false));
    server.listen({ host: "127.0.0.1", port, exclusive: true }, () => {
      server.close(() => resolve(true));
    });
  });
}
