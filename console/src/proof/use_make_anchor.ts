/** Making an anchor of everything that is stored now. */

import { useState } from "preact/hooks";
import type { Refusal } from "@daybook/client";
import { connection } from "../shell/connection.ts";

export interface AnchorMaker {
  /** Absent where nobody may make one: it needs an operator. */
  readonly make?: () => Promise<void>;
  readonly isMaking: boolean;
  /** Why the last one was not made. */
  readonly refusal: Refusal | undefined;
}

/** `onMade` is called once there is a new anchor. */
export function useMakeAnchor(onMade: () => void): AnchorMaker {
  const { admin } = connection.value;
  const [isMaking, setMaking] = useState(false);
  const [refusal, setRefusal] = useState<Refusal>();
  if (admin === undefined) return { isMaking, refusal };

  async function make(): Promise<void> {
    setMaking(true);
    const answer = await admin!.anchors.make();
    setMaking(false);
    setRefusal(answer.ok ? undefined : answer as Refusal);
    if (answer.ok) onMade();
  }

  return { make, isMaking, refusal };
}
