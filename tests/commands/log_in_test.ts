/** Accounts and logins. */

import { deepEqual, equal } from "node:assert/strict";
import { passwordHasher } from "../../src/commands/hash_password.ts";
import { type Accounts, addUser, login } from "../../src/commands/log_in.ts";
import { operatorAuthenticator } from "../../src/queries/authenticate_operator.ts";
import { keys } from "../../src/store/keys.ts";
import { accepted, refusal } from "../support/access_fixtures.ts";
import { type FakeHost, fakeHost } from "../support/fake_host.ts";
import { withTemporaryEngine } from "../support/temporary_engine.ts";

const EMAIL = "ops@example.com";
const PASSWORD = "correct horse battery";

function withAccounts(body: (accounts: Accounts & { host: FakeHost }) => Promise<void>) {
  return withTemporaryEngine((engine) => {
    const jwtSecret = new Uint8Array(32).fill(5);
    return body({ engine, host: fakeHost(), hasher: passwordHasher(), jwtSecret });
  });
}

Deno.test("login() gives a token of 24 hours that works", async () => {
  await withAccounts(async (accounts) => {
    deepEqual(accepted(await addUser(accounts, ` ${EMAIL.toUpperCase()}`, PASSWORD)), {
      email: EMAIL,
    });
    const { token, expires_at } = accepted(await login(accounts, "OPS@example.com ", PASSWORD));
    equal(expires_at, "2026-01-02T00:00:00.000Z");
    const { host, jwtSecret } = accounts;
    const operator = await operatorAuthenticator(host, { jwtSecret }).authenticate(token);
    deepEqual(accepted(operator), { subject: EMAIL });
  });
});

Deno.test("login() says the same of wrong passwords, unknown accounts and no email", async () => {
  await withAccounts(async (accounts) => {
    accepted(await addUser(accounts, EMAIL, PASSWORD));
    const refusals = [
      refusal(await login(accounts, EMAIL, "wrong")),
      refusal(await login(accounts, "nobody@example.com", PASSWORD)),
      refusal(await login(accounts, "", "")),
    ];
    deepEqual(
      refusals,
      Array(3).fill({ kind: "unauthorized", message: "Wrong email or password" }),
    );
  });
});

Deno.test("login() runs scrypt for an unknown account as for a known one", async () => {
  await withAccounts(async (accounts) => {
    const verified: boolean[] = [];
    const hasher = { ...accounts.hasher };
    hasher.verify = (password, expected) => {
      verified.push(expected !== undefined);
      return accounts.hasher.verify(password, expected);
    };
    accepted(await addUser(accounts, EMAIL, PASSWORD));
    await login({ ...accounts, hasher }, EMAIL, "wrong password");
    await login({ ...accounts, hasher }, "nobody@example.com", "wrong password");
    deepEqual(verified, [true, false]);
  });
});

for (const email of [EMAIL, "nobody@example.com"]) {
  Deno.test(`ten failed logins of ${email} in a minute lock it for that minute`, async () => {
    await withAccounts(async (accounts) => {
      accepted(await addUser(accounts, EMAIL, PASSWORD));
      const quick = { ...accounts, hasher: { ...accounts.hasher, verify: never } };
      for (let second = 0; second < 10; second++) {
        equal(refusal(await login(quick, email, "wrong")).kind, "unauthorized");
        accounts.host.timeMs += 1_000;
      }
      const locked = { kind: "login_locked", retryAfterSeconds: 50 };
      deepEqual(refusal(await login(accounts, email, PASSWORD)), locked);
      accounts.host.timeMs += 50_000;
      const after = await login(accounts, email, PASSWORD);
      equal(after.ok, email === EMAIL);
    });
  });
}

Deno.test("of thirty logins at once ten are tried: haste is no way around", async () => {
  await withAccounts(async (accounts) => {
    accepted(await addUser(accounts, EMAIL, PASSWORD));
    const quick = { ...accounts, hasher: { ...accounts.hasher, verify: never } };
    const outcomes = await Promise.all(
      Array.from({ length: 30 }, () => login(quick, EMAIL, "wrong")),
    );
    const kinds = outcomes.map((outcome) => refusal(outcome).kind);
    equal(kinds.filter((kind) => kind === "unauthorized").length, 10);
    equal(kinds.filter((kind) => kind === "login_locked").length, 20);
  });
});

Deno.test("a login that works forgets those that failed", async () => {
  await withAccounts(async (accounts) => {
    accepted(await addUser(accounts, EMAIL, PASSWORD));
    const quick = { ...accounts, hasher: { ...accounts.hasher, verify: never } };
    for (let tries = 0; tries < 9; tries++) await login(quick, EMAIL, "wrong");
    accepted(await login(accounts, EMAIL, PASSWORD));
    const left = await accounts.engine.snapshot((tx) => tx.getRange(keys.allFailedLogins()));
    deepEqual(left, []);
  });
});

Deno.test("login() turns away, unjudged, while too many wait", async () => {
  await withAccounts(async (accounts) => {
    const full = { ...accounts, hasher: { ...accounts.hasher, hasRoom: () => false } };
    const found = refusal(await login(full, EMAIL, PASSWORD));
    deepEqual(found, { kind: "login_locked", retryAfterSeconds: 1 });
  });
});

Deno.test("addUser() refuses a bad email, a short password and an email in use", async () => {
  await withAccounts(async (accounts) => {
    accepted(await addUser(accounts, EMAIL, PASSWORD));
    const email = refusal(await addUser(accounts, "ops", PASSWORD));
    equal(email.kind === "operator_input_invalid" && email.path, "email");
    const password = refusal(await addUser(accounts, "b@example.com", "short"));
    equal(password.kind === "operator_input_invalid" && password.path, "password");
    const taken = refusal(await addUser(accounts, EMAIL.toUpperCase(), "another password"));
    equal(taken.kind, "already_exists");
    accepted(await login(accounts, EMAIL, PASSWORD));
  });
});

Deno.test("addUser() leaves no trace of the password in the store", async () => {
  await withAccounts(async (accounts) => {
    accepted(await addUser(accounts, EMAIL, PASSWORD));
    const value = await accounts.engine.snapshot((tx) => tx.get(keys.user(EMAIL)));
    equal(new TextDecoder().decode(value).includes(PASSWORD), false);
  });
});

function never(): Promise<boolean> {
  return Promise.resolve(false);
}
