/** The trace reader on made-up traces: it must catch an acknowledgement that comes too early. */

import assert from "node:assert/strict";
import { checkSyncOrder, parseTrace } from "./system_call_trace.ts";

const WAL = "7</data/daybook.sqlite-wal>";
const SOCKET = "9<socket:[4711]>";
const ASK =
  `101 recvfrom(${SOCKET}, "POST /a HTTP/1.1\\r\\n{\\"t\\":\\"traced-1-token\\"}", 4096) = 60`;
const STORE = `102 pwrite64(${WAL}, "\\0\\0\\1traced-1-token"..., 4096, 56) = 4096`;
const SYNC = `102 fdatasync(${WAL}) = 0`;
const ACKNOWLEDGE = `101 writev(${SOCKET}, [{iov_base="HTTP/1.1 201 Created\\r\\n"}], 2) = 120`;

function judge(...lines: string[]) {
  return checkSyncOrder(parseTrace(lines.join("\n")), "/data");
}

Deno.test("checkSyncOrder() accepts write, sync, acknowledgement", () => {
  assert.deepEqual(judge(ASK, STORE, SYNC, ACKNOWLEDGE), {
    acknowledged: 1,
    syncs: 1,
    violations: [],
  });
});

Deno.test("checkSyncOrder() catches an acknowledgement before its sync", () => {
  for (const lines of [[ASK, STORE, ACKNOWLEDGE, SYNC], [ASK, SYNC, STORE, ACKNOWLEDGE]]) {
    const { violations } = judge(...lines);
    assert.equal(violations.length, 1);
    assert.match(violations[0]!, /before the file that holds it was synced/);
  }
});

Deno.test("checkSyncOrder() catches an acknowledgement before its write, or without one", () => {
  for (const lines of [[ASK, ACKNOWLEDGE, STORE, SYNC], [ASK, SYNC, ACKNOWLEDGE]]) {
    assert.match(judge(...lines).violations[0]!, /before it was written/);
  }
});

Deno.test("checkSyncOrder() takes no sync that began earlier, failed or still runs", () => {
  const cases = [
    [ASK, `103 fdatasync(${WAL} <unfinished ...>`, STORE, "103 <... fdatasync resumed>) = 0"],
    [ASK, STORE, `102 fdatasync(${WAL}) = -1 EIO (Input/output error)`],
    [ASK, STORE, `102 fdatasync(${WAL} <unfinished ...>`],
    [ASK, STORE, "102 fdatasync(8</data/other.sqlite-wal>) = 0"],
    [ASK, STORE, "102 fdatasync(8</elsewhere/daybook.sqlite-wal>) = 0"],
  ];
  for (const lines of cases) {
    assert.equal(judge(...lines, ACKNOWLEDGE).violations.length, 1, lines.join("\n"));
  }
});

Deno.test("checkSyncOrder() takes a sync of the same file through another descriptor", () => {
  const other = WAL.replace(/^\d+/, "9");
  assert.deepEqual(judge(ASK, STORE, `103 fdatasync(${other}) = 0`, ACKNOWLEDGE).violations, []);
});

Deno.test("checkSyncOrder() follows interleaved threads and several sockets", () => {
  const report = judge(
    `101 read(${SOCKET},  <unfinished ...>`,
    `102 pwrite64(${WAL}, "traced-2-token"..., 4096, 0 <unfinished ...>`,
    `101 <... read resumed>"POST traced-1-token", 4096) = 60`,
    `101 read(10<socket:[4712]>, "POST traced-2-token", 4096) = 60`,
    "102 <... pwrite64 resumed>) = 4096",
    `102 fdatasync(${WAL} <unfinished ...>`,
    STORE.replace("102", "103"),
    "102 <... fdatasync resumed>) = 0",
    `101 write(10<socket:[4712]>, "HTTP/1.1 201 Created", 20) = 20`,
    `101 write(${SOCKET}, "HTTP/1.1 201 Created", 20) = 20`,
  );
  assert.equal(report.acknowledged, 2);
  assert.equal(report.violations.length, 1);
  assert.match(report.violations[0]!, /^traced-1-token, line 10/);
});

Deno.test("checkSyncOrder() wants every event of a batch synced, and leaves refusals alone", () => {
  const batch = ASK.replace("traced-1-token", "traced-1-token traced-2-token");
  assert.equal(judge(batch, STORE, SYNC, ACKNOWLEDGE).violations.length, 1);
  const refusal = ACKNOWLEDGE.replace("201 Created", "409 Conflict");
  assert.deepEqual(judge(ASK, refusal), { acknowledged: 0, syncs: 0, violations: [] });
});
