/** The keys for development, and where they are refused. See docs/operate/settings.md. */

import assert from "node:assert/strict";
import { isApiKey } from "../../../src/domain/access/api_key.ts";
import { DEV_KEYS, devKey, findDevKeyFaults } from "../../../src/domain/access/dev_keys.ts";
import { ENVIRONMENTS } from "../../../src/domain/tenant.ts";

Deno.test("the keys for development have the form of keys, and are those that the page has", async () => {
  assert.equal(new Set(DEV_KEYS).size, 6);
  const page = new URL("../../../docs/operate/settings.md", import.meta.url);
  const text = await Deno.readTextFile(page);
  const shown = text.match(/dbk_0_[A-Za-z0-9_]+/g) ?? [];
  assert.deepEqual(shown.toSorted(), DEV_KEYS.toSorted());
  for (const key of DEV_KEYS) {
    assert.ok(isApiKey(key), key);
    assert.match(key, /ForDevelopmentOnlyEverybodyKnowsIt/);
  }
  assert.equal(devKey("test", "write"), "dbk_0_test_writeForDevelopmentOnlyEverybodyKnowsIt0000");
  assert.ok(ENVIRONMENTS.every((one) => DEV_KEYS.includes(devKey(one, "read"))));
});

Deno.test("findDevKeyFaults() names everything that others could reach, and nothing else", () => {
  const quiet = {
    isLoopback: true,
    host: "127.0.0.1",
    trustedProxies: [],
    isShared: false,
    bootstrap: true,
  };
  assert.deepEqual(findDevKeyFaults(quiet), []);
  for (const baseDomain of ["localhost", "shop.localhost"]) {
    assert.deepEqual(findDevKeyFaults({ ...quiet, baseDomain }), []);
  }
  const exposures = [
    [{ isLoopback: false, host: "0.0.0.0" }, "DAYBOOK_HOST is 0.0.0.0"],
    [{ baseDomain: "localhost.example.com" }, "DAYBOOK_BASE_DOMAIN is localhost.example.com"],
    [{ tls: {} }, "DAYBOOK_TLS_CERT"],
    [{ trustedProxies: ["127.0.0.1/32"] }, "DAYBOOK_TRUSTED_PROXIES"],
    [{ isShared: true }, "DAYBOOK_STORE is foundationdb"],
    [{ bootstrap: false }, "DAYBOOK_BOOTSTRAP is false"],
  ] as const;
  for (const [change, told] of exposures) {
    const faults = findDevKeyFaults({ ...quiet, ...change });
    assert.equal(faults.length, 1, told);
    assert.ok(faults[0]!.startsWith("DAYBOOK_DEV_KEYS: ") && faults[0]!.includes(told), faults[0]);
  }
  const all = Object.assign({}, quiet, ...exposures.map(([change]) => change));
  assert.equal(findDevKeyFaults(all).length, exposures.length);
});
