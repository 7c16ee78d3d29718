/** Cluster files: which are valid, and the messages about invalid ones. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { findClusterFile } from "../../../src/kv/foundationdb/cluster_file.ts";

Deno.test("findClusterFile() takes all forms that FoundationDB takes", async () => {
  const directory = await Deno.makeTempDir({ prefix: "daybook_" });
  const path = join(directory, "fdb.cluster");
  const texts = [
    "docker:docker@10.0.0.1:4500",
    "# a comment\n\nmy_cluster:a1B2c3@127.0.0.1:4500\n",
    "c:i@10.0.0.1:4500,10.0.0.2:4500,10.0.0.3:4500\n",
    "c:i@10.0.0.1:4500:tls,10.0.0.2:4500:tls\n",
    "c:i@[::1]:4500\n",
    "c:i@fdb-0.fdb.svc.cluster.local:4500\n",
  ];
  for (const text of texts) {
    await Deno.writeTextFile(path, text);
    assert.equal(await findClusterFile(path), path, text);
  }
  await Deno.remove(directory, { recursive: true });
});

Deno.test("findClusterFile() names the places where it looked", async () => {
  await assert.rejects(findClusterFile("/not/there"), /at \/not\/there\. Set FDB_CLUSTER_FILE/);
});
