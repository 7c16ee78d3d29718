/** What one attack did to the neighbour and to the server. */

import type { Attack } from "./attack.ts";
import type { EngineName } from "./besieged.ts";
import type { Observation } from "./probes.ts";
import type { Answers } from "./send.ts";

export interface Outcome {
  readonly attack: Attack;
  readonly engine: EngineName;
  /** Why the attack could not be carried out at all. */
  readonly failure?: string;
  readonly answers: Answers;
  readonly quiet?: Observation;
  readonly beside?: Observation;
  readonly afterRestart?: Observation;
  /** Longest delay of the event loop, as the server itself has measured it. */
  readonly loopDelayMs?: number;
  /** Growth since the start, in MiB. */
  readonly serverMiB?: number;
  readonly serverAgainMiB?: number;
  readonly childMiB?: number;
  /** Signs of life that the server did not give. */
  readonly silent: readonly string[];
  /** How the server ended during the attack, if it did not survive it. */
  readonly died?: string;
  /** Children of the server that were still running after it was killed. */
  readonly orphans?: number;
  readonly readyMs?: number;
  readonly stopMs?: number;
  readonly stopCode?: number;
  /** Everything above that exceeds the bars. */
  readonly faults: readonly string[];
}
