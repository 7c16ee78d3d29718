/**
 * The form of a spec, for editors: what `defineSpec` offers and refuses. A deploy checks far more.
 * See docs/reference/specs.md and docs/reference/handlers.md.
 */

/**
 * Any JSON, as a literal may be written.
 *
 * ```ts
 * import type { Json } from "@daybook/client";
 * const json: Json = { lines: [{ sku: "TEA-1", qty: 2 }], paid: null };
 * console.log(JSON.stringify(json));
 * ```
 */
export type Json =
  | null
  | boolean
  | number
  | string
  | readonly Json[]
  | { readonly [key: string]: Json };

/**
 * A value of a handler: JSON in which strings that begin with `$` or `@` are paths.
 *
 * ```ts
 * import type { Template } from "@daybook/client";
 * const template: Template = { at: "$.metadata.timestamp", by: "$.metadata.actor" };
 * console.log(JSON.stringify(template));
 * ```
 */
export type Template = Json;

/**
 * JSON Schema 2020-12, or `true` for any value.
 *
 * ```ts
 * import type { SchemaForm } from "@daybook/client";
 * const anything: SchemaForm = true;
 * const money: SchemaForm = { type: "number", minimum: 0 };
 * console.log(anything, money);
 * ```
 */
export type SchemaForm = boolean | SchemaKeywords;

type SimpleType = "array" | "boolean" | "integer" | "null" | "number" | "object" | "string";

/**
 * The keywords of JSON Schema.
 *
 * ```ts
 * import type { SchemaKeywords } from "@daybook/client";
 * const line: SchemaKeywords = {
 *   type: "object",
 *   properties: { sku: { type: "string" }, qty: { type: "integer", minimum: 1 } },
 *   required: ["sku", "qty"],
 * };
 * console.log(line.required);
 * ```
 */
export interface SchemaKeywords {
  readonly title?: string;
  readonly description?: string;
  readonly default?: Json;
  readonly examples?: readonly Json[];
  readonly deprecated?: boolean;
  readonly type?: SimpleType | readonly SimpleType[];
  readonly const?: Json;
  readonly enum?: readonly Json[];
  readonly properties?: { readonly [name: string]: SchemaForm };
  readonly required?: readonly string[];
  readonly additionalProperties?: SchemaForm;
  readonly unevaluatedProperties?: SchemaForm;
  readonly patternProperties?: { readonly [pattern: string]: SchemaForm };
  readonly propertyNames?: SchemaForm;
  readonly minProperties?: number;
  readonly maxProperties?: number;
  readonly dependentRequired?: { readonly [name: string]: readonly string[] };
  readonly dependentSchemas?: { readonly [name: string]: SchemaForm };
  readonly items?: SchemaForm;
  readonly prefixItems?: readonly SchemaForm[];
  readonly unevaluatedItems?: SchemaForm;
  readonly contains?: SchemaForm;
  readonly minContains?: number;
  readonly maxContains?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly uniqueItems?: boolean;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly format?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: number;
  readonly exclusiveMaximum?: number;
  readonly multipleOf?: number;
  readonly allOf?: readonly SchemaForm[];
  readonly anyOf?: readonly SchemaForm[];
  readonly oneOf?: readonly SchemaForm[];
  readonly not?: SchemaForm;
  readonly if?: SchemaForm;
  readonly then?: SchemaForm;
  readonly else?: SchemaForm;
  readonly $ref?: string;
  readonly $dynamicRef?: string;
  readonly $anchor?: string;
  readonly $dynamicAnchor?: string;
  readonly $id?: string;
  readonly $schema?: string;
  readonly $comment?: string;
  readonly $defs?: { readonly [name: string]: SchemaForm };
}

type Condition = { readonly [name: string]: Json };

/**
 * One operation of a handler; `target` is a path inside the state.
 *
 * ```ts
 * import type { Operation } from "@daybook/client";
 * const pay: Operation = { increment: { target: "paid", by: "$.data.amount" } };
 * console.log(pay);
 * ```
 */
export type Operation =
  | { readonly set: { readonly target: string; readonly value: Template } }
  | { readonly merge: { readonly target: string; readonly value: Template } }
  | { readonly increment: { readonly target: string; readonly by?: Template } }
  | { readonly decrement: { readonly target: string; readonly by?: Template } }
  | { readonly remove: { readonly target: string; readonly where?: Condition } }
  | { readonly append: { readonly target: string; readonly value: Template } }
  | {
    readonly append_unique: {
      readonly target: string;
      readonly value: Template;
      readonly key?: string;
    };
  }
  | { readonly upsert: { readonly target: string; readonly key: string; readonly value: Template } }
  | { readonly filter: { readonly target: string; readonly where: Condition } }
  | {
    readonly update_where: {
      readonly target: string;
      readonly where: Condition;
      readonly value: Template;
    };
  }
  | { readonly map: { readonly target: string; readonly value: Template; readonly as?: string } }
  | {
    readonly set_at: { readonly target: string; readonly key: Template; readonly value: Template };
  }
  | {
    readonly merge_at: {
      readonly target: string;
      readonly key: Template;
      readonly value: Template;
    };
  }
  | {
    readonly increment_at: {
      readonly target: string;
      readonly key: Template;
      readonly by?: Template;
    };
  }
  | { readonly remove_at: { readonly target: string; readonly key: Template } }
  | { readonly if: Condition; readonly then: HandlerForm; readonly else?: HandlerForm }
  | { readonly let: { readonly [name: string]: Template }; readonly then: HandlerForm };

/**
 * One operation, or a list of them; `[]` for an event that does not change the state.
 *
 * ```ts
 * import type { HandlerForm } from "@daybook/client";
 * const handler: HandlerForm = [
 *   { set: { target: "status", value: "paid" } },
 *   { increment: { target: "paid", by: "$.data.amount" } },
 * ];
 * console.log(handler.length);
 * ```
 */
export type HandlerForm = Operation | readonly Operation[];

/**
 * A rule that holds whenever an event of its type is written.
 *
 * ```ts
 * import type { GuardForm } from "@daybook/client";
 * const inStock: GuardForm = {
 *   with: { product: { type: "product", id: "$.data.product_id" } },
 *   require: { gte: ["$.with.product.stock", "$.data.quantity"] },
 *   message: "Not that many are left",
 * };
 * console.log(inStock.message);
 * ```
 */
export interface GuardForm {
  /** What must hold: a predicate over the event, the state before it (`@`) and others. */
  readonly require: Condition;
  readonly message: string;
  /** Other aggregates, read as `$.with.<alias>`. */
  readonly with?: { readonly [alias: string]: { readonly type: string; readonly id: Template } };
}

/**
 * One event type.
 *
 * ```ts
 * import type { EventForm } from "@daybook/client";
 * const wasNoted: EventForm = {
 *   schema: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
 *   handler: { append: { target: "notes", value: "$.data.text" } },
 * };
 * console.log(wasNoted.schema);
 * ```
 */
export interface EventForm {
  readonly title?: string;
  readonly description?: string;
  readonly examples?: readonly Json[];
  readonly schema?: SchemaForm;
  readonly handler?: HandlerForm | { readonly wasm: Json };
  readonly implications?: readonly { readonly [kind: string]: Json }[];
  readonly allow_skip_occ?: boolean;
  readonly guards?: readonly GuardForm[];
  readonly geo?: { readonly type?: string; readonly path?: string };
}

/**
 * One aggregate type.
 *
 * ```ts
 * import type { AggregateForm } from "@daybook/client";
 * const order: AggregateForm = { events: { was_viewed: { schema: true, handler: [] } } };
 * console.log(Object.keys(order.events));
 * ```
 */
export interface AggregateForm {
  readonly title?: string;
  readonly description?: string;
  readonly examples?: readonly Json[];
  readonly events: { readonly [name: string]: EventForm };
}

/**
 * A whole spec.
 *
 * ```ts
 * import type { SpecForm } from "@daybook/client";
 * const spec: SpecForm = {
 *   agent_types: ["user"],
 *   aggregate_types: { order: { events: { was_viewed: { schema: true, handler: [] } } } },
 * };
 * console.log(spec.agent_types);
 * ```
 */
export interface SpecForm {
  readonly title?: string;
  readonly description?: string;
  readonly examples?: readonly Json[];
  readonly $schema?: string;
  /** Who may write. */
  readonly agent_types: readonly string[];
  /** Whom an event may be about. */
  readonly target_types?: readonly string[];
  readonly aggregate_types: { readonly [name: string]: AggregateForm };
  readonly modules?: {
    readonly never_cache?: Json;
    readonly sagas?: Json;
    readonly listeners?: Json;
  };
  readonly geo_types?: {
    readonly [name: string]: { readonly type: "point"; readonly properties: readonly string[] };
  };
  readonly singletons?: Json;
}
