/** `resume`: lets a restored deployment react, deliver and make anchors again. */

import { type CommonOptions, openSession } from "../connection/session.ts";

export async function resume(options: CommonOptions): Promise<void> {
  const session = await openSession(options);
  const { output, server } = session;
  const path = "/_admin/restored";
  const { paused: wasPaused, moment } = await session.operator({ path });
  await session.operator({ method: "POST", path, body: { action: "resume" } });
  output.result(
    { resumed: wasPaused },
    () =>
      wasPaused === true
        ? `${server.url} goes on from ${moment}: reactions, timers, deliveries and anchors`
        : `${server.url} was not waiting for this; nothing has changed`,
  );
}
