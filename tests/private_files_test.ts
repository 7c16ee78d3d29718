/** Files that hold secrets: who may read them, and what a crash leaves. */

import { deepEqual, equal, rejects } from "node:assert/strict";
import type { Credentials } from "../src/features/access/bootstrap.ts";
import { credentialsFile, readOrMakeJwtSecret } from "../src/private_files.ts";
import { fakeHost } from "./support/fake_host.ts";

const pair = { read: "r", write: "w" };
const credentials: Credentials = {
  instance_id: "i",
  slug: "default",
  base_urls: { production: "p", staging: "s", test: "t" },
  keys: { production: pair, staging: pair, test: pair },
  operator_token: "o",
};

async function withFolder(body: (folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "daybook_" });
  try {
    await body(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

async function modeOf(path: string): Promise<string> {
  return ((await Deno.stat(path)).mode! & 0o777).toString(8);
}

function namesIn(folder: string): string[] {
  return Array.from(Deno.readDirSync(folder), ({ name }) => name).sort();
}

Deno.test("credentialsFile() gives credentials their name only once published", async () => {
  await withFolder(async (root) => {
    const folder = `${root}/made/when/needed`;
    const file = credentialsFile(folder);
    await file.writePending(credentials);
    deepEqual(namesIn(folder), ["credentials.json.i.pending"]);
    deepEqual(await file.listPending(), [credentials]);
    equal(await file.readPublished(), undefined);
    await file.publish("i");
    deepEqual(namesIn(folder), ["credentials.json"]);
    deepEqual(JSON.parse(await Deno.readTextFile(file.path)), credentials);
    deepEqual(await file.listPending(), []);
    deepEqual(await file.readPublished(), credentials);
  });
});

Deno.test("credentialsFile() is the owner's alone, before and after publishing", async () => {
  await withFolder(async (folder) => {
    const file = credentialsFile(folder);
    await Deno.writeTextFile(`${file.path}.i.pending.part`, "left by a crash", { mode: 0o644 });
    await file.writePending(credentials);
    equal(await modeOf(`${file.path}.i.pending`), "600");
    await file.publish("i");
    equal(await modeOf(file.path), "600");
  });
});

Deno.test("credentialsFile() replaces older credentials, and discards pending ones", async () => {
  await withFolder(async (folder) => {
    const file = credentialsFile(folder);
    await Deno.writeTextFile(file.path, "of an earlier store");
    await file.writePending({ ...credentials, slug: "waste" });
    await file.discardPending("i");
    await file.discardPending("i");
    deepEqual(namesIn(folder), ["credentials.json"]);
    await file.writePending(credentials);
    await file.publish("i");
    deepEqual(JSON.parse(await Deno.readTextFile(file.path)), credentials);
  });
});

Deno.test("credentialsFile() takes a pending file that is no JSON for none", async () => {
  await withFolder(async (folder) => {
    const file = credentialsFile(folder);
    await Deno.writeTextFile(`${file.path}.i.pending`, "{");
    deepEqual(await file.listPending(), []);
  });
});

Deno.test("credentialsFile() published twice at once is published; what is not there is not", async () => {
  await withFolder(async (folder) => {
    const file = credentialsFile(folder);
    await file.writePending(credentials);
    await Promise.all([file.publish("i"), credentialsFile(folder).publish("i")]);
    deepEqual(await file.readPublished(), credentials);
    await rejects(file.publish("j"), Deno.errors.NotFound);
  });
});

Deno.test("credentialsFile() says where it is, by a path that is true in every folder", async () => {
  await withFolder(async (folder) => {
    const place = await credentialsFile(`${folder}/./new`).describe();
    equal(place, `${await Deno.realPath(folder)}/new/credentials.json on ${Deno.hostname()}`);
  });
});

Deno.test("readOrMakeJwtSecret() makes 32 bytes once, readable by the owner alone", async () => {
  await withFolder(async (folder) => {
    const secret = await readOrMakeJwtSecret(`${folder}/data`, fakeHost());
    equal(secret.length, 32);
    deepEqual(namesIn(`${folder}/data`), ["jwt_secret"]);
    equal(await modeOf(`${folder}/data/jwt_secret`), "600");
    deepEqual(await readOrMakeJwtSecret(`${folder}/data`, fakeHost("later")), secret);
  });
});

Deno.test("readOrMakeJwtSecret() gives all who start at once the same secret", async () => {
  await withFolder(async (folder) => {
    const secrets = await Promise.all(
      Array.from({ length: 8 }, (_, n) => readOrMakeJwtSecret(folder, fakeHost(`process${n}`))),
    );
    for (const secret of secrets) deepEqual(secret, secrets[0]);
    deepEqual(namesIn(folder), ["jwt_secret"]);
  });
});

Deno.test("readOrMakeJwtSecret() takes a file others may read back to its owner", async () => {
  await withFolder(async (folder) => {
    await Deno.writeTextFile(`${folder}/jwt_secret`, "ab".repeat(32), { mode: 0o644 });
    equal((await readOrMakeJwtSecret(folder, fakeHost())).toHex(), "ab".repeat(32));
    equal(await modeOf(`${folder}/jwt_secret`), "600");
  });
});

Deno.test("readOrMakeJwtSecret() refuses a damaged file: no weak secrets", async () => {
  await withFolder(async (folder) => {
    for (const text of ["", "ab", "zz".repeat(32)]) {
      await Deno.writeTextFile(`${folder}/jwt_secret`, text);
      await rejects(readOrMakeJwtSecret(folder, fakeHost()), /64 hex characters/);
    }
  });
});
