/**
 * The scripted endpoints of a world's listeners: what reached them, and what they answered.
 * They outlive all nodes. A lost delivery comes in both forms: the request never arrived, or it
 * arrived and the answer was lost.
 */

import type { TryAnswer } from "../../src/domain/listener/delivery.ts";
import type { Webhook, WebhookSender } from "../../src/domain/listener/webhook.ts";
import type { Random } from "../crash/random.ts";
import type { Census } from "./census.ts";
import type { Weather } from "./weather.ts";

/** A delivery that has arrived. */
export interface Arrival {
  readonly webhook: Webhook;
  /** The newest version when it arrived. */
  readonly version: number;
  /** Number of the process that sent it. */
  readonly process: number;
  /** The status it was answered with, whether that answer got through or not. */
  readonly status: number;
}

export interface Receivers {
  /** In the order in which they arrived. */
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

/**
 * A sender's `wait` resolves when something has travelled one way; never, once its node is
 * dead.
 */
export function openReceivers({ weather, census, isStormy, version }: Surroundings): Receivers {
  const arrivals: Arrival[] = [];

  /** Draws the status of an endpoint; undefined means that the network loses the delivery. */
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
      // Either the request or the answer is lost.
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

/** An endpoint never accepts some events. */
function isRefused(body: string): boolean {
  return JSON.parse(body).event.data.of % REFUSED_EACH === 0;
}
