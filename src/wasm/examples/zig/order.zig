//! An order that adds up what is put into it, in Zig: a handler that refuses what goes beyond its
//! limit, an implication that reserves stock, and a transform that names the amount.

const std = @import("std");
const Value = std.json.Value;

const allocator = std.heap.wasm_allocator;
const limit_cents: i64 = 1_000_000;

/// Memory for the input. It is never given back: every call has a new memory.
export fn malloc(size: usize) ?[*]u8 {
    const bytes = allocator.alloc(u8, size) catch return null;
    return bytes.ptr;
}

/// Handler: `{state, event}` to `{state}` or `{error}`.
export fn apply_handler(pointer: [*]const u8, length: usize) u64 {
    return applyHandler(pointer[0..length]) catch @trap();
}

/// Implication: `{event, context}` to `{actions}`, one for each item.
export fn compute_implications(pointer: [*]const u8, length: usize) u64 {
    return computeImplications(pointer[0..length]) catch @trap();
}

/// Transform step of a pipeline: `{event, context}` to `{context}`, which later steps see.
export fn compute_context(pointer: [*]const u8, length: usize) u64 {
    return computeContext(pointer[0..length]) catch @trap();
}

fn applyHandler(text: []const u8) !u64 {
    const input = try readInput(text);
    var state = input.get("state").?.object;
    const items = itemsOf(input);
    const total = integerIn(state, "total_cents") + sumOf(items);
    if (total > limit_cents) {
        return pack(.{ .@"error" = .{
            .type = "order_limit",
            .message = "An order may not exceed 10000.00",
            .code = "E_ORDER_LIMIT",
            .context = .{ .total_cents = total, .limit_cents = limit_cents },
        } });
    }
    const count: i64 = @intCast(items.len);
    try state.put("items", .{ .integer = integerIn(state, "items") + count });
    try state.put("total_cents", .{ .integer = total });
    return pack(.{ .state = Value{ .object = state } });
}

const Reservation = struct {
    emit: struct {
        aggregate_type: []const u8 = "stock",
        id: Value,
        event_type: []const u8 = "was_reserved",
        data: struct { order: Value, quantity: Value },
    },
};

fn computeImplications(text: []const u8) !u64 {
    const input = try readInput(text);
    const order = input.get("event").?.object.get("key").?;
    const items = itemsOf(input);
    const actions = try allocator.alloc(Reservation, items.len);
    for (actions, items) |*action, item| {
        action.* = .{ .emit = .{
            .id = item.object.get("stock").?,
            .data = .{ .order = order, .quantity = item.object.get("quantity").? },
        } };
    }
    return pack(.{ .actions = actions });
}

fn computeContext(text: []const u8) !u64 {
    const cents = sumOf(itemsOf(try readInput(text)));
    return pack(.{ .context = .{ .cents = cents } });
}

/// Numbers are kept as the texts they are: so none is altered on its way.
fn readInput(text: []const u8) !std.json.ObjectMap {
    const options: std.json.ParseOptions = .{ .parse_numbers = false };
    return (try std.json.parseFromSliceLeaky(Value, allocator, text, options)).object;
}

/// The elements of `event.data.items`.
fn itemsOf(input: std.json.ObjectMap) []const Value {
    const data = input.get("event").?.object.get("data").?.object;
    return data.get("items").?.array.items;
}

fn sumOf(items: []const Value) i64 {
    var cents: i64 = 0;
    for (items) |item| {
        cents += integerIn(item.object, "quantity") * integerIn(item.object, "unit_cents");
    }
    return cents;
}

/// The integer in a field, or 0 where there is none.
fn integerIn(object: std.json.ObjectMap, name: []const u8) i64 {
    const value = object.get(name) orelse return 0;
    if (value != .number_string) return 0;
    return std.fmt.parseInt(i64, value.number_string, 10) catch 0;
}

/// Where the output is and how long: `(pointer << 32) | length`.
fn pack(output: anytype) !u64 {
    const text = try std.json.Stringify.valueAlloc(allocator, output, .{});
    return @as(u64, @intFromPtr(text.ptr)) << 32 | text.len;
}
