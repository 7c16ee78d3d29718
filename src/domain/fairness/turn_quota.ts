/** Admits a number of equal steps in each event-loop turn; the others wait in line for the next. */

export interface TurnQuota {
  /** Undefined if the step may begin now; otherwise resolves when it may. */
  enter(): Promise<void> | undefined;
}

/** `nextTurn` resolves in the next turn. Waiters are admitted in the order of arrival. */
export function openTurnQuota(stepsPerTurn: number, nextTurn: () => Promise<void>): TurnQuota {
  let left = 0;
  let isOpen = false;
  let waiting: (() => void)[] = [];

  async function begin(): Promise<void> {
    isOpen = true;
    left = stepsPerTurn;
    await nextTurn();
    isOpen = false;
    if (waiting.length === 0) return;
    void begin();
    const admitted = waiting.slice(0, stepsPerTurn);
    waiting = waiting.slice(stepsPerTurn);
    left -= admitted.length;
    for (const goOn of admitted) goOn();
  }

  return {
    enter() {
      if (!isOpen) void begin();
      if (left > 0) {
        left--;
        return undefined;
      }
      return new Promise((resolve) => waiting.push(resolve));
    },
  };
}
