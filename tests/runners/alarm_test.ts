/** The alarm rings once when it is due, and not if it was postponed or unset. */

import assert from "node:assert/strict";
import { newAlarm } from "../../src/runners/alarm.ts";

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

/** Resolves with the time when the alarm rings. */
function rings(prepare: (alarm: ReturnType<typeof newAlarm>) => void): Promise<number> {
  return new Promise((resolve) => prepare(newAlarm(() => resolve(performance.now()))));
}

Deno.test("an alarm does not ring before it is due, whether it was put off or brought forward", async () => {
  for (const first of [5, 200_000]) {
    const dueMs = performance.now() + 30;
    const rangMs = await rings((alarm) => {
      alarm.set(performance.now() + first);
      alarm.set(dueMs);
    });
    assert(rangMs >= dueMs);
  }
});

Deno.test("an alarm rings once, and again when it is set again", async () => {
  let count = 0;
  const alarm = newAlarm(() => count++);
  for (let turn = 1; turn <= 2; turn++) {
    alarm.set(performance.now() + 1);
    await pause(30);
    assert.equal(count, turn);
  }
});

Deno.test("an alarm that is unset or closed does not ring, and can be set afterwards", async () => {
  let count = 0;
  const alarm = newAlarm(() => count++);
  alarm.set(performance.now() + 5);
  alarm.unset();
  await pause(30);
  alarm.set(performance.now() + 5);
  alarm.close();
  await pause(30);
  assert.equal(count, 0);
  alarm.set(performance.now() + 1);
  await pause(30);
  assert.equal(count, 1);
  alarm.close();
});
