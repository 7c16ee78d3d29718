/** The URLs that deliveries may have. */

import assert from "node:assert/strict";
import { isWebhookUrl } from "../../../src/domain/listener/definition.ts";

Deno.test("absolute URLs of http and https, spelled as the standard spells them", () => {
  assert.ok(isWebhookUrl("https://example.com/"));
  assert.ok(isWebhookUrl("http://example.com:8080/a?b=c"));
  const others = [
    "",
    "example.com",
    "https://example.com",
    "HTTPS://example.com/",
    "ftp://example.com/",
    "https://user@example.com/",
    "https://:secret@example.com/",
    "https://example.com/#a",
    "https://example.com/a b",
    `https://example.com/${"a".repeat(2_048)}`,
  ];
  for (const text of others) assert.ok(!isWebhookUrl(text), text);
});
