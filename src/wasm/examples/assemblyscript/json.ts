/**
 * Just enough JSON for a module in AssemblyScript. Values are handled as the texts that they
 * are. A module copies unchanged what it does not look into, so no number or name is altered on
 * the way. The input is well formed, because Daybook wrote it; therefore nothing is checked
 * here.
 */

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;

/** The fields of an object, in order: the name as it stands between its quotes, and the value. */
export function fieldsOf(object: string): Map<string, string> {
  const fields = new Map<string, string>();
  let at = object.indexOf('"');
  while (at != -1) {
    const nameEnd = endOfValue(object, at);
    const begin = object.indexOf(":", nameEnd) + 1;
    const end = endOfValue(object, begin);
    fields.set(object.substring(at + 1, nameEnd - 1), object.substring(begin, end).trim());
    at = object.indexOf('"', end);
  }
  return fields;
}

/** The object with these fields: the inverse of `fieldsOf`. */
export function objectOf(fields: Map<string, string>): string {
  const names = fields.keys();
  const texts = new Array<string>(names.length);
  for (let index = 0; index < names.length; index++) {
    texts[index] = '"' + names[index] + '":' + fields.get(names[index]);
  }
  return "{" + texts.join(",") + "}";
}

/** The elements of an array, in order. */
export function elementsOf(array: string): string[] {
  const elements: string[] = [];
  let at = 1;
  while (at > 0) {
    const end = endOfValue(array, at);
    const element = array.substring(at, end).trim();
    if (element.length > 0) elements.push(element);
    // There is no comma after the last element, which makes this 0.
    at = array.indexOf(",", end) + 1;
  }
  return elements;
}

/** The integer in a field, or 0 if there is none. */
export function integerIn(fields: Map<string, string>, name: string): i64 {
  return fields.has(name) ? I64.parseInt(fields.get(name)) : 0;
}

/** The end of the value that begins at `begin`, or after the white space there. */
function endOfValue(json: string, begin: i32): i32 {
  let depth = 0;
  let isInString = false;
  for (let at = begin; at < json.length; at++) {
    const unit = json.charCodeAt(at);
    if (isInString) {
      if (unit == BACKSLASH) at++;
      else if (unit == QUOTE) {
        isInString = false;
        if (depth == 0) return at + 1;
      }
    } else if (unit == QUOTE) isInString = true;
    else if (unit == 0x7b || unit == 0x5b) depth++;
    else if (unit == 0x7d || unit == 0x5d) {
      if (depth == 0) return at;
      if (--depth == 0) return at + 1;
    } else if (unit == COMMA && depth == 0) return at;
  }
  return json.length;
}
