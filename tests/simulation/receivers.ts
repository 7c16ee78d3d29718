/**
 * The endpoints of a world's listeners, scripted: what reached them, and what they said. They
 * outlive all nodes. Each fault comes both ways: nothing came, or it came and the answer was lost.
 */

import type { TryAnswer } from "../../src/domain/listener/delivery.ts";
import type { Webhook, WebhookSender } from "../../src/domain/listener/sender.ts";
import type { Random } from "../crash/random.ts";
import type { Census } from "./census.ts";
import type { Weather } from "./weather.ts";

/** A delivery that has come. */
export interface Arrival {
  readonly webhook: Webhook;
  /** The newest version as it came. */
  readonly version: number;
  /** Of the process that sent it. */
  readonly process: number;
  /** What was said to it, whether anybody heard or not. */
  readonly status: number;
}

export interface Receivers {
  /** In the order in which they came. */
  readonly arrivals: readonly Arrival[];
  /** The network of one process. */
  senderFor(process: number, wait: () => Promise<void>, random: Random): WebhookSender;
}

interface Surroundings {
  readonly weather: Weather;
  readonly census: Census;
  isStormy(): boolean;
  version(): number;
}

const FAULTS_SHARE = 0.4;
const GONE = 410;
const REFUSED_EACH = 4;

/** `wait`, of a sender, resolves when something has gone one way; never, once its node is dead. */
export function openReceivers({ weather, census, isStormy, version }: Surroundings): Receivers {
  const arrivals: Arrival[] = [];

  /** What an endpoint says; undefined: the network loses it. */
  function drawStatus(random: Random, { body }: Webhook): number | undefined {
    if (weather.receivers === "stubborn" && isRefused(body)) return 500;
    if (weather.receivers !== "flaky" || !isStormy() || !random.chance(FAULTS_SHARE)) return 200;
    return random.pick([500, 429, 302, undefined, undefined, GONE]);
  }

  function senderFor(
    process: number,
    wait: () => Promise<void>,
    random: Random,
  ): WebhookSender {
    async function send(webhook: Webhook): Promise<TryAnswer> {
      await wait();
      const status = drawStatus(random, webhook);
      const isLost = status === undefined;
      // What is lost is the request or the answer.
      if (isLost && random.chance(0.5)) {
        census.count("deliveries that never came");
        return { failure: "connection_failed" };
      }
      arrivals.push({ webhook, version: version(), process, status: status ?? 200 });
      await wait();
      if (!isLost) return { status };
      census.count("deliveries that came, answer lost");
      return { failure: "timeout" };
    }
    return { send, close() {} };
  }

  return { arrivals, senderFor };
}

/** Some events an endpoint never takes. */
function isRefused(body: string): boolean {
  return JSON.parse(body).event.data.of % REFUSED_EACH === 0;
}
