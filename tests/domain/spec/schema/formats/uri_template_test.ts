/** URI templates: the examples of RFC 6570, section 1.2, and what its grammar excludes. */

import assert from "node:assert/strict";
import { isUriTemplate } from "../../../../../src/domain/spec/schema/formats/uri_template.ts";

const TEMPLATES = [
  "http://example.com/~{username}/",
  "{+path}/here",
  "map?{x,y}",
  "{+x,hello,y}",
  "{#path:6}here",
  "X{.x,y}",
  "{/var:1,var}",
  "{;x,y,empty}",
  "{?list*}",
  "{&keys*}",
  "a%20b{a.b_c%41:9999}",
  "",
];
const NO_TEMPLATES = [
  "{",
  "}",
  "{}",
  "{a",
  "a}",
  "{{a}}",
  "{a}}",
  "{a:0}",
  "{a:10000}",
  "{a*:1}",
  "{a b}",
  "{.}",
  "{a.}",
  "%",
  "a b",
  "<",
  "\\",
  "`",
  "\ud800",
];

for (const text of TEMPLATES) {
  Deno.test(`${JSON.stringify(text)} is a URI template`, () => assert(isUriTemplate(text)));
}

for (const text of NO_TEMPLATES) {
  Deno.test(`${JSON.stringify(text)} is no URI template`, () => assert(!isUriTemplate(text)));
}
