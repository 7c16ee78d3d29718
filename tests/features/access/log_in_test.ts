/** Accounts and logins. */

import { deepEqual, equal } from "node:assert/strict";
import { passwordHasher } from "../../../src/features/access/hash_password.ts";
import { type Accounts, addUser, login } from "../../../src/features/access/log_in.ts";
import { createLoginGate } from "../../../src/features/access/login_gate.ts";
import { operatorAuthenticator } from "../../../src/features/access/operator_token.ts";
import { keys } from "../../../src/store/keys.ts";
import { accepted, refusal } from "../../support/access_fixtures.ts";
import { type FakeHost, fakeHost } from "../../support/fake_host.ts";
import { withTemporaryEngine } from "../../support/temporary_engine.ts";

const EMAIL = "ops@example.com";
const PASSWORD = "correct horse battery";
const HOME = "192.0.2.1";

function withAccounts(body: (accounts: Accounts & { host: FakeHost }) => Promise<void>) {
  return withTemporaryEngine((engine) => {
    const jwtSecret = new Uint8Array(32).fill(5);
    const gate = createLoginGate();
    return body({ engine, host: fakeHost(), hasher: passwordHasher(), gate, jwtSecret });
  });
}

function tryLogin(accounts: Accounts, email: string, password: string, network = HOME) {
  return login(accounts, { email, password, network });
}

/** Accounts on which every password is wrong and is checked instantly. */
function guessing(accounts: Accounts): Accounts {
  return { ...accounts, hasher: { ...accounts.hasher, verify: never } };
}

Deno.test("login() gives a token of 24 hours that works", async () => {
  await withAccounts(async (accounts) => {
    deepEqual(accepted(await addUser(accounts, ` ${EMAIL.toUpperCase()}`, PASSWORD)), {
      email: EMAIL,
    });
    const { token, expires_at } = accepted(await tryLogin(accounts, "OPS@example.com ", PASSWORD));
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
      refusal(await tryLogin(accounts, EMAIL, "wrong")),
      refusal(await tryLogin(accounts, "nobody@example.com", PASSWORD)),
      refusal(await tryLogin(accounts, "", "")),
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
    await tryLogin({ ...accounts, hasher }, EMAIL, "wrong password");
    await tryLogin({ ...accounts, hasher }, "nobody@example.com", "wrong password");
    deepEqual(verified, [true, false]);
  });
});

for (const email of [EMAIL, "nobody@example.com"]) {
  Deno.test(`ten failed logins of ${email} in a minute lock it for their address and that minute`, async () => {
    await withAccounts(async (accounts) => {
      accepted(await addUser(accounts, EMAIL, PASSWORD));
      const quick = { ...accounts, hasher: { ...accounts.hasher, verify: never } };
      for (let second = 0; second < 10; second++) {
        equal(refusal(await tryLogin(quick, email, "wrong")).kind, "unauthorized");
        accounts.host.timeMs += 1_000;
      }
      const locked = { kind: "login_locked", retryAfterSeconds: 50 };
      deepEqual(refusal(await tryLogin(accounts, email, PASSWORD)), locked);
      accounts.host.timeMs += 50_000;
      const after = await tryLogin(accounts, email, PASSWORD);
      equal(after.ok, email === EMAIL);
    });
  });
}

Deno.test("of thirty logins at once ten are tried: haste is no way around", async () => {
  await withAccounts(async (accounts) => {
    accepted(await addUser(accounts, EMAIL, PASSWORD));
    const quick = { ...accounts, hasher: { ...accounts.hasher, verify: never } };
    const outcomes = await Promise.all(
      Array.from({ length: 30 }, () => tryLogin(quick, EMAIL, "wrong")),
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
    for (let tries = 0; tries < 9; tries++) await tryLogin(quick, EMAIL, "wrong");
    accepted(await tryLogin(accounts, EMAIL, PASSWORD));
    const left = await accounts.engine.snapshot((tx) => tx.getRange(keys.allFailedLogins()));
    deepEqual(left, []);
  });
});

Deno.test("whoever guesses at one address locks nobody out at another", async () => {
  await withAccounts(async (accounts) => {
    accepted(await addUser(accounts, EMAIL, PASSWORD));
    for (let tries = 0; tries < 20; tries++) {
      await tryLogin(guessing(accounts), EMAIL, "wrong", "198.51.100.7");
    }
    equal(refusal(await tryLogin(accounts, EMAIL, PASSWORD, "198.51.100.7")).kind, "login_locked");
    accepted(await tryLogin(accounts, EMAIL, PASSWORD, "203.0.113.9"));
  });
});

Deno.test("guesses from a hundred addresses lock strange ones, and not where the owner was before", async () => {
  await withAccounts(async (accounts) => {
    accepted(await addUser(accounts, EMAIL, PASSWORD));
    accepted(await tryLogin(accounts, EMAIL, PASSWORD));
    const kinds: string[] = [];
    for (let address = 0; address < 101; address++) {
      const outcome = await tryLogin(guessing(accounts), EMAIL, "wrong", `198.51.100.${address}`);
      kinds.push(refusal(outcome).kind);
    }
    deepEqual(kinds, [...Array(100).fill("unauthorized"), "login_locked"]);
    equal(refusal(await tryLogin(accounts, EMAIL, PASSWORD, "203.0.113.9")).kind, "login_locked");
    accepted(await tryLogin(accounts, EMAIL, PASSWORD));
    accounts.host.timeMs += 60_000;
    accepted(await tryLogin(accounts, EMAIL, PASSWORD, "203.0.113.9"));
  });
});

Deno.test("where the owner was before, ten failed logins in a minute lock the account too", async () => {
  await withAccounts(async (accounts) => {
    accepted(await addUser(accounts, EMAIL, PASSWORD));
    accepted(await tryLogin(accounts, EMAIL, PASSWORD));
    for (let tries = 0; tries < 10; tries++) await tryLogin(guessing(accounts), EMAIL, "wrong");
    equal(refusal(await tryLogin(accounts, EMAIL, PASSWORD)).kind, "login_locked");
  });
});

Deno.test("a place is strange again when nobody has logged in from it for 90 days", async () => {
  await withAccounts(async (accounts) => {
    accepted(await addUser(accounts, EMAIL, PASSWORD));
    accepted(await tryLogin(accounts, EMAIL, PASSWORD));
    accounts.host.timeMs += 91 * 24 * 3_600_000;
    for (let address = 0; address < 100; address++) {
      await tryLogin(guessing(accounts), EMAIL, "wrong", `198.51.100.${address}`);
    }
    equal(refusal(await tryLogin(accounts, EMAIL, PASSWORD)).kind, "login_locked");
  });
});

Deno.test("sixty failed logins of an address in a minute lock it, whatever the accounts", async () => {
  await withAccounts(async (accounts) => {
    accepted(await addUser(accounts, EMAIL, PASSWORD));
    const kinds = new Map<string, number>();
    for (let tries = 0; tries < 70; tries++) {
      const outcome = await tryLogin(guessing(accounts), `u${tries}@example.com`, "wrong");
      const { kind } = refusal(outcome);
      kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
    }
    deepEqual([...kinds], [["unauthorized", 60], ["login_locked", 10]]);
    equal(refusal(await tryLogin(accounts, EMAIL, PASSWORD)).kind, "login_locked");
    accepted(await tryLogin(accounts, EMAIL, PASSWORD, "203.0.113.9"));
  });
});

Deno.test("the store has a digest of the addresses of an account, and not the addresses", async () => {
  await withAccounts(async (accounts) => {
    accepted(await addUser(accounts, EMAIL, PASSWORD));
    accepted(await tryLogin(accounts, EMAIL, PASSWORD));
    const value = await accounts.engine.snapshot((tx) => tx.get(keys.user(EMAIL)));
    const text = new TextDecoder().decode(value);
    equal(text.includes("places"), true);
    equal(text.includes(HOME), false);
  });
});

Deno.test("login() turns away, unjudged, while too many wait", async () => {
  await withAccounts(async (accounts) => {
    const full = { ...accounts, hasher: { ...accounts.hasher, hasRoom: () => false } };
    const found = refusal(await tryLogin(full, EMAIL, PASSWORD));
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
    accepted(await tryLogin(accounts, EMAIL, PASSWORD));
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
