/**
 * The types of data by its JSON Schema, at the level of types: what `daybook types` writes, for
 * specs that are TypeScript. Keywords that are not known here make a type wider, never narrower.
 */

/** An object of which nothing is known. */
export interface OpenObject {
  readonly [key: string]: unknown;
}

/** An object without any field. */
export interface EmptyObject {
  readonly [key: string]: undefined;
}

/** Names that TypeScript finds in every object; as optional fields they would refuse `{}`. */
export type Inherited =
  | "constructor"
  | "hasOwnProperty"
  | "isPrototypeOf"
  | "propertyIsEnumerable"
  | "toLocaleString"
  | "toString"
  | "valueOf";

/** One object type of several that belong together. */
export type Flat<T> = { readonly [Key in keyof T]: T[Key] };

/** The data of an event, by its definition in the spec. */
export type EventData<Event> = Event extends { readonly schema: infer Schema } ? DataOf<Schema>
  : OpenObject;

/** Objects only. */
type DataOf<Schema> = Schema extends { readonly type: "object" }
  ? keyof Schema & Further extends never ? ObjectType<Schema, Schema>
  : ObjectsIn<TypeOfSchema<Schema, Schema, "object">>
  : Schema extends boolean ? OpenObject
  : ObjectsIn<TypeOfSchema<Schema, Schema, "object">>;

type ObjectsIn<T> = unknown extends T ? OpenObject
  : [Extract<T, object>] extends [never] ? OpenObject
  : Exclude<Extract<T, object>, readonly unknown[]>;

type AnyType = "array" | "boolean" | "null" | "number" | "object" | "string";

interface Scalars {
  readonly boolean: boolean;
  readonly integer: number;
  readonly null: null;
  readonly number: number;
  readonly string: string;
}

/** Most schemas name one type of scalars and no values; that is seen at one look. */
interface ScalarSchema {
  readonly type: keyof Scalars;
  readonly const?: never;
  readonly enum?: never;
  readonly $ref?: never;
  readonly oneOf?: never;
  readonly anyOf?: never;
  readonly allOf?: never;
}

/**
 * The values that a schema allows. `Usual`: the type that is known from around it, where the schema
 * names none.
 */
type TypeOfSchema<Schema, Root, Usual = unknown> = Schema extends ScalarSchema
  ? Scalars[Schema["type"]]
  : GeneralType<Schema, Root, Usual>;

type GeneralType<Schema, Root, Usual> = keyof Schema & Further extends never
  ? Schema extends boolean ? Schema extends true ? unknown : never : OwnType<Schema, Root, Usual>
  : Schema extends { readonly const: infer Value } ? Value
  : Schema extends { readonly enum: readonly (infer Value)[] } ? Value
  :
    & OwnType<Schema, Root, Usual>
    & (Schema extends { readonly $ref: infer Name } ? Referred<Name, Root, Usual> : unknown)
    & (Schema extends { readonly oneOf: readonly (infer Form)[] }
      ? FormType<Form, Root, Around<Schema, Usual>>
      : unknown)
    & (Schema extends { readonly anyOf: readonly (infer Form)[] }
      ? FormType<Form, Root, Around<Schema, Usual>>
      : unknown)
    & (Schema extends { readonly allOf: infer Forms } ? AllOf<Forms, Root, Around<Schema, Usual>>
      : unknown);

/** Keywords beside the usual ones; most schemas have none of them, which is quick to see. */
type Further = "const" | "enum" | "$ref" | "oneOf" | "anyOf" | "allOf";

type Around<Schema, Usual> = Schema extends { readonly type: infer Type } ? Type : Usual;

type FormType<Form, Root, Usual> = Form extends unknown ? TypeOfSchema<Form, Root, Usual> : never;

type AllOf<Forms, Root, Usual> = Forms extends readonly [infer First, ...infer Others]
  ? TypeOfSchema<First, Root, Usual> & AllOf<Others, Root, Usual>
  : unknown;

type Referred<Name, Root, Usual> = Name extends "#" ? TypeOfSchema<Root, Root, Usual>
  : Name extends `#/$defs/${infer Key}`
    ? Root extends { readonly $defs: { readonly [Each in Key]: infer Target } }
      ? TypeOfSchema<Target, Root, Usual>
    : unknown
  : unknown;

type OfObjects = "properties" | "required" | "additionalProperties" | "patternProperties";
type OfArrays = "items" | "prefixItems";

/** What `type`, `properties` and `items` say. */
type OwnType<Schema, Root, Usual> = Schema extends { readonly type: readonly (infer Type)[] }
  ? ByType<Type, Schema, Root>
  : Schema extends { readonly type: infer Type } ? ByType<Type, Schema, Root>
  : keyof Schema & (OfObjects | OfArrays) extends never ? unknown
  : unknown extends Usual ? ByType<AnyType, Schema, Root>
  : Usual extends readonly (infer Type)[] ? ByType<Type, Schema, Root>
  : ByType<Usual, Schema, Root>;

type ByType<Type, Schema, Root> = Type extends "string" ? string
  : Type extends "number" | "integer" ? number
  : Type extends "boolean" ? boolean
  : Type extends "null" ? null
  : Type extends "array" ? ArrayType<Schema, Root>
  : Type extends "object" ? ObjectType<Schema, Root>
  : never;

type ArrayType<Schema, Root> = Schema extends { readonly prefixItems: infer First } ? TupleType<
    First,
    RestType<Schema, Root>,
    Root,
    Schema extends { readonly minItems: number } ? 1 : 0
  >
  : readonly RestType<Schema, Root>[];

type RestType<Schema, Root> = Schema extends { readonly items: infer Item }
  ? TypeOfSchema<Item, Root>
  : unknown;

type TupleType<First, Rest, Root, Least> = {
  readonly [Index in keyof First]: TypeOfSchema<First[Index], Root>;
} extends infer Elements extends readonly unknown[]
  ? Least extends 1 ? unknown : Rest extends never ? Readonly<Partial<Elements>>
  : readonly [...Partial<Elements>, ...Rest[]]
  : never;

type Properties<Schema> = Schema extends { readonly properties: infer Fields } ? Fields : unknown;
type RequiredNames<Schema> = Schema extends { readonly required: readonly (infer Name)[] }
  ? Name & string
  : never;

type ObjectType<Schema, Root> = Schema extends
  { readonly properties: infer Fields; readonly additionalProperties: false }
  ? keyof Fields extends never ? GeneralObject<Schema, Root>
  : RequiredNames<Schema> extends keyof Fields ? ClosedObject<Fields, RequiredNames<Schema>, Root>
  : GeneralObject<Schema, Root>
  : GeneralObject<Schema, Root>;

/** Mostly some fields are required; where it is all of them, or none, there is less to do. */
type ClosedObject<Fields, Required, Root> = [keyof Fields] extends [Required]
  ? { readonly [Name in keyof Fields]: TypeOfSchema<Fields[Name], Root> }
  : [Required] extends [never]
    ? { readonly [Name in keyof Fields]?: OptionalType<Name, Fields[Name], Root> }
  : Flat<FieldTypes<Fields, Required, Root>>;

type GeneralObject<Schema, Root> = Flat<
  & FieldTypes<Properties<Schema>, RequiredNames<Schema>, Root>
  & { readonly [Name in Exclude<RequiredNames<Schema>, keyof Properties<Schema>>]: unknown }
  & FurtherFields<Schema, Root>
>;

type FieldTypes<Fields, Required, Root> =
  & { readonly [Name in keyof Fields & Required]: TypeOfSchema<Fields[Name], Root> }
  & {
    readonly [Name in Exclude<keyof Fields, Required>]?: OptionalType<Name, Fields[Name], Root>;
  };

type OptionalType<Name, Schema, Root> = Name extends Inherited ? unknown
  : TypeOfSchema<Schema, Root>;

/** Fields that the schema does not name. */
type FurtherFields<Schema, Root> = Schema extends { readonly patternProperties: unknown }
  ? OpenObject
  : Schema extends
    | { readonly additionalProperties: infer Further }
    | { readonly unevaluatedProperties: infer Further }
    ? Further extends false ? keyof Properties<Schema> extends never ? EmptyObject : unknown
    : Further extends true ? OpenObject
    : keyof Properties<Schema> extends never
      ? { readonly [key: string]: TypeOfSchema<Further, Root> }
    : OpenObject
  : OpenObject;
