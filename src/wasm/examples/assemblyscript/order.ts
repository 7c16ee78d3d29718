/**
 * An example module in AssemblyScript: an order that adds up the items put into it. It has a
 * handler that refuses orders beyond a limit, an implication that reserves stock, and a
 * transform that puts the amount into the context.
 */

import { elementsOf, fieldsOf, integerIn, objectOf } from "./json.ts";

const LIMIT_CENTS: i64 = 1_000_000;

/** Allocates memory for the input. It is never freed, because every call has a new memory. */
export function malloc(size: i32): i32 {
  return heap.alloc(size) as i32;
}

/** Handler: `{state, event}` to `{state}` or `{error}`. */
function applyHandler(pointer: i32, length: i32): i64 {
  const input = readInput(pointer, length);
  const state = fieldsOf(input.get("state"));
  const items = itemsOf(input);
  const total = integerIn(state, "total_cents") + sumOf(items);
  if (total > LIMIT_CENTS) {
    return pack(
      '{"error":{"type":"order_limit","message":"An order may not exceed 10000.00",' +
        '"code":"E_ORDER_LIMIT","context":{"total_cents":' + total.toString() +
        ',"limit_cents":' + LIMIT_CENTS.toString() + "}}}",
    );
  }
  state.set("items", (integerIn(state, "items") + items.length).toString());
  state.set("total_cents", total.toString());
  return pack('{"state":' + objectOf(state) + "}");
}

/** Implication: `{event, context}` to `{actions}`, one for each item. */
function computeImplications(pointer: i32, length: i32): i64 {
  const input = readInput(pointer, length);
  const order = fieldsOf(input.get("event")).get("key");
  const items = itemsOf(input);
  const actions = new Array<string>(items.length);
  for (let index = 0; index < items.length; index++) {
    // `stock` and `order` still have their quotes, so they are copied to the output as they are.
    actions[index] = '{"emit":{"aggregate_type":"stock","id":' + items[index].get("stock") +
      ',"event_type":"was_reserved","data":{"order":' + order +
      ',"quantity":' + items[index].get("quantity") + "}}}";
  }
  return pack('{"actions":[' + actions.join(",") + "]}");
}

/** Transform step of a pipeline: `{event, context}` to `{context}`, which later steps see. */
function computeContext(pointer: i32, length: i32): i64 {
  const cents = sumOf(itemsOf(readInput(pointer, length)));
  return pack('{"context":{"cents":' + cents.toString() + "}}");
}

export {
  applyHandler as apply_handler,
  computeContext as compute_context,
  computeImplications as compute_implications,
};

function readInput(pointer: i32, length: i32): Map<string, string> {
  return fieldsOf(String.UTF8.decodeUnsafe(pointer, length));
}

/** The elements of `event.data.items`. */
function itemsOf(input: Map<string, string>): Map<string, string>[] {
  const data = fieldsOf(fieldsOf(input.get("event")).get("data"));
  return elementsOf(data.get("items")).map<Map<string, string>>((item) => fieldsOf(item));
}

function sumOf(items: Map<string, string>[]): i64 {
  let cents: i64 = 0;
  for (let index = 0; index < items.length; index++) {
    cents += integerIn(items[index], "quantity") * integerIn(items[index], "unit_cents");
  }
  return cents;
}

/** Encodes the output and returns its place and length: `(pointer << 32) | length`. */
function pack(output: string): i64 {
  const bytes = String.UTF8.encode(output);
  return (changetype<usize>(bytes) as i64) << 32 | (bytes.byteLength as i64);
}
