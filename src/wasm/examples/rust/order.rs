//! An order that adds up what is put into it, in Rust: a handler that refuses what goes beyond its
//! limit, an implication that reserves stock, and a transform that names the amount.

use serde_json::{json, Value};

const LIMIT_CENTS: i64 = 1_000_000;

/// Memory for the input. It is never given back: every call has a new memory.
#[no_mangle]
pub extern "C" fn malloc(size: usize) -> *mut u8 {
    Vec::with_capacity(size).leak().as_mut_ptr()
}

/// Handler: `{state, event}` to `{state}` or `{error}`.
#[no_mangle]
pub extern "C" fn apply_handler(pointer: *const u8, length: usize) -> u64 {
    let mut input = read_input(pointer, length);
    let mut state = input["state"].take();
    let items = items_of(&input);
    let total = integer_in(&state, "total_cents") + sum_of(items);
    if total > LIMIT_CENTS {
        return pack(json!({"error": {
            "type": "order_limit",
            "message": "An order may not exceed 10000.00",
            "code": "E_ORDER_LIMIT",
            "context": {"total_cents": total, "limit_cents": LIMIT_CENTS},
        }}));
    }
    state["items"] = json!(integer_in(&state, "items") + items.len() as i64);
    state["total_cents"] = json!(total);
    pack(json!({ "state": state }))
}

/// Implication: `{event, context}` to `{actions}`, one for each item.
#[no_mangle]
pub extern "C" fn compute_implications(pointer: *const u8, length: usize) -> u64 {
    let input = read_input(pointer, length);
    let reserve = |item: &Value| {
        json!({"emit": {
            "aggregate_type": "stock",
            "id": item["stock"],
            "event_type": "was_reserved",
            "data": {"order": input["event"]["key"], "quantity": item["quantity"]},
        }})
    };
    let actions: Vec<Value> = items_of(&input).iter().map(reserve).collect();
    pack(json!({ "actions": actions }))
}

/// Transform step of a pipeline: `{event, context}` to `{context}`, which later steps see.
#[no_mangle]
pub extern "C" fn compute_context(pointer: *const u8, length: usize) -> u64 {
    let input = read_input(pointer, length);
    pack(json!({"context": {"cents": sum_of(items_of(&input))}}))
}

fn read_input(pointer: *const u8, length: usize) -> Value {
    // The memory that malloc gave, filled by Daybook with JSON.
    let bytes = unsafe { std::slice::from_raw_parts(pointer, length) };
    serde_json::from_slice(bytes).unwrap()
}

/// The elements of `event.data.items`.
fn items_of(input: &Value) -> &[Value] {
    input["event"]["data"]["items"]
        .as_array()
        .map_or(&[], |items| items)
}

fn sum_of(items: &[Value]) -> i64 {
    let cents = |item| integer_in(item, "quantity") * integer_in(item, "unit_cents");
    items.iter().map(cents).sum()
}

/// The integer in a field, or 0 where there is none.
fn integer_in(object: &Value, name: &str) -> i64 {
    object[name].as_i64().unwrap_or(0)
}

/// Where the output is and how long: `(pointer << 32) | length`. The text is leaked on purpose.
fn pack(output: Value) -> u64 {
    let text = serde_json::to_vec(&output).unwrap().leak();
    (text.as_ptr() as u64) << 32 | text.len() as u64
}
