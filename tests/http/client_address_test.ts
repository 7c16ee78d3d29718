/** The client's address, case by case: `tests/golden/client_address/cases.json`. */

import { equal, throws } from "node:assert/strict";
import { clientAddress, parseAddressRanges } from "../../src/http/client_address.ts";
import cases from "../golden/client_address/cases.json" with { type: "json" };

for (const { name, peer, forwarded_for, trusted, client } of cases) {
  Deno.test(`clientAddress() ${name}`, () => {
    equal(clientAddress(peer, forwarded_for, parseAddressRanges(trusted)), client);
  });
}

Deno.test("clientAddress() follows no more than 32 proxies", () => {
  const trusted = parseAddressRanges(["10.0.0.0/8"]);
  const chain = ["203.0.113.9", ...Array.from({ length: 40 }, (_, index) => `10.0.0.${index}`)];
  equal(clientAddress("10.9.9.9", chain.join(", "), trusted), "10.0.0.8");
});

Deno.test("clientAddress() reads no more than 2,048 characters of a chain", () => {
  const trusted = parseAddressRanges(["10.0.0.0/8"]);
  equal(
    clientAddress("10.9.9.9", `203.0.113.9, ${" ".repeat(1_900)}10.0.0.1`, trusted),
    "203.0.113.9",
  );
  equal(
    clientAddress("10.9.9.9", `203.0.113.9, ${" ".repeat(2_100)}10.0.0.1`, trusted),
    "10.0.0.1",
  );
});

Deno.test("parseAddressRanges() throws for what the configuration would not have passed", () => {
  throws(() => parseAddressRanges(["10.0.0.0"]));
  throws(() => parseAddressRanges(["nonsense/8"]));
});
