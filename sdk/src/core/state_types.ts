/**
 * The types of states by their handlers, at the level of types. What handlers say beyond what is
 * known here makes a field `unknown`.
 */

import type { EmptyObject, Flat, Inherited, OpenObject } from "./schema_types.ts";

/** What one operation adds to a state, at a path: a value, an element, or a value at any key. */
type Change<Path, Kind, Type> = readonly [path: Path, kind: Kind, type: readonly [Type]];

interface Party {
  readonly type: string;
  readonly id: string;
}

/** What the paths of a handler read. */
interface Scope {
  readonly data: unknown;
  readonly type: string;
  readonly names: object;
}

/** The value of a template. */
type ValueOf<Value, In extends Scope> = Value extends string
  ? Value extends `$.${infer Path}` ? ReadEvent<Path, In>
  : Value extends `@${string}` ? unknown
  : Value extends `$${infer Path}` ? ReadName<Path, In["names"]>
  : Value
  : Value extends { readonly $literal: infer Literal } ? Literal
  : Value extends { readonly $: infer Path } ? ValueOf<Path, In>
  : Value extends { readonly $merge: unknown } ? OpenObject
  : Value extends readonly unknown[]
    ? { readonly [Index in keyof Value]: ValueOf<Value[Index], In> }
  : Value extends object ? keyof Value extends never ? EmptyObject
    : { readonly [Key in keyof Value]: ValueOf<Value[Key], In> }
  : Value;

type ReadEvent<Path extends string, In extends Scope> = Path extends "data" ? In["data"]
  : Path extends `data.${infer Steps}` ? ReadPath<In["data"], Steps>
  : Path extends "key" | "id" ? string
  : Path extends "type" ? In["type"]
  : Path extends "metadata.timestamp" ? number
  : Path extends "metadata.actor" ? Party
  : Path extends "metadata.actor.type" | "metadata.actor.id" ? string
  : Path extends "metadata.target" ? Party | null
  : Path extends "metadata.target?" ? Party
  : Path extends "metadata.target.type" | "metadata.target.id" ? string | null
  : unknown;

type ReadName<Path extends string, Names> = Path extends `${infer Name}.${infer Steps}`
  ? Name extends keyof Names ? ReadPath<Names[Name], Steps> : unknown
  : Path extends keyof Names ? Names[Path]
  : unknown;

/** Null where nothing is there, unless the path ends in `?`. */
type ReadPath<From, Steps extends string> = Steps extends `${string}[${string}` ? unknown
  : Steps extends `${infer Plain}?` ? Exclude<Follow<From, Plain>, undefined>
  : Nullable<Follow<From, Steps>>;

type Nullable<T> = unknown extends T ? unknown
  : undefined extends T ? Exclude<T, undefined> | null
  : T;

/** Undefined where nothing is there. */
type Follow<From, Steps extends string> = unknown extends From ? unknown
  : Steps extends `${infer Step}.${infer More}` ? Follow<StepInto<From, Step>, More>
  : StepInto<From, Steps>;

type StepInto<From, Step> = From extends readonly unknown[] ? unknown
  : From extends object ? Step extends keyof From ? From[Step] : undefined
  : undefined;

/** The changes of a handler: those of each of its operations. */
type ChangesOf<Handler, In extends Scope> = Handler extends readonly (infer Each)[]
  ? OperationChanges<Each, In>
  : OperationChanges<Handler, In>;

type OperationChanges<Each, In extends Scope> = Each extends { readonly set: infer Fields }
  ? ValueChange<Fields, In>
  : Each extends { readonly merge: infer Fields } ? ValueChange<Fields, In>
  : Each extends { readonly increment: { readonly target: infer Path } }
    ? Change<Path, "value", number>
  : Each extends { readonly decrement: { readonly target: infer Path } }
    ? Change<Path, "value", number>
  : Each extends
    | { readonly append: infer Fields }
    | { readonly append_unique: infer Fields }
    | { readonly upsert: infer Fields } ? ElementChange<Fields, In>
  : Each extends { readonly set_at: infer Fields } | { readonly merge_at: infer Fields }
    ? KeyedChange<Fields, In>
  : Each extends { readonly increment_at: infer Fields }
    ? Fields extends { readonly target: infer Path; readonly key: infer Key }
      ? AtKey<Path, Key, number>
    : never
  : Each extends { readonly if: unknown; readonly then: infer Then } ?
      | ChangesOf<Then, In>
      | (Each extends { readonly else: infer Else } ? ChangesOf<Else, In> : never)
  : Each extends { readonly let: infer Names; readonly then: infer Then } ? ChangesOf<
      Then,
      { readonly data: In["data"]; readonly type: In["type"]; readonly names: Bound<Names, In> }
    >
  : Each extends { readonly map: { readonly target: infer Path } } ? Change<Path, "value", unknown>
  : Each extends { readonly update_where: { readonly target: infer Path } }
    ? Change<Path, "value", unknown>
  : never;

type Bound<Names, In extends Scope> =
  & { readonly [Name in keyof Names as Unmarked<Name>]: ValueOf<Names[Name], In> }
  & Omit<In["names"], Unmarked<keyof Names>>;
type Unmarked<Name> = Name extends `$${infer Plain}` ? Plain : Name & string;

type ValueChange<Fields, In extends Scope> = Fields extends
  { readonly target: infer Path; readonly value: infer Value }
  ? Change<Path, "value", ValueOf<Value, In>>
  : never;

type ElementChange<Fields, In extends Scope> = Fields extends
  { readonly target: infer Path; readonly value: infer Value }
  ? Change<Path, "element", ValueOf<Value, In>>
  : never;

type KeyedChange<Fields, In extends Scope> = Fields extends
  { readonly target: infer Path; readonly key: infer Key; readonly value: infer Value }
  ? AtKey<Path, Key, ValueOf<Value, In>>
  : never;

/** A key that is a plain text is a field. */
type AtKey<Path, Key, Type> = Key extends `$${string}` | `@${string}` | object
  ? Change<Path, "any key", Type>
  : Key extends `${string}.${string}` | "" ? Change<Path, "value", unknown>
  : Path extends "" ? Change<Key, "value", Type>
  : Change<`${Path & string}.${Key & string}`, "value", Type>;

/** By event type: its changes by the first step of their path, as a type may have many events. */
type ChangesByField<Events, Data> = {
  [Type in keyof Events & string]: Events[Type] extends { readonly handler: infer Handler }
    ? ByField<
      ChangesOf<Handler, {
        readonly data: Type extends keyof Data ? Data[Type] : OpenObject;
        readonly type: Type;
        readonly names: Record<never, never>;
      }>
    >
    : Record<never, never>;
};

type ByField<All> = { [Name in FieldNames<All>]: Within<All, Name> };

/** All changes of one field. */
type ChangesAt<Fields, Name> = {
  [Type in keyof Fields]: Name extends keyof Fields[Type] ? Fields[Type][Name] : never;
}[keyof Fields];

type NamesIn<Fields> = { [Type in keyof Fields]: keyof Fields[Type] }[keyof Fields];

/** The state of an aggregate type. */
export type StateOf<Events, Data> = HasModule<Events> extends true ? OpenObject
  : StateBy<ChangesByField<Events, Data>>;

type HasModule<Events> = true extends {
  [Type in keyof Events]: Events[Type] extends { readonly handler: { readonly wasm: unknown } }
    ? true
    : false;
}[keyof Events] ? true
  : false;

/** The values that are merged into the state itself. */
type RootValues<All> = All extends readonly ["", "value", readonly [infer Type]]
  ? unknown extends Type ? OpenObject : Extract<Type, object>
  : All extends readonly ["", "any key", readonly [unknown]] ? OpenObject
  : never;

type StateBy<Fields> = StateWith<Fields, RootValues<ChangesAt<Fields, "">>>;

type StateWith<Fields, Root> = [Root] extends [never]
  ? [NamesIn<Fields>] extends [never] ? EmptyObject : FieldsOf<Fields, never, NamesIn<Fields>>
  : IsOpen<Root> extends true
    ? Flat<FieldsOf<Fields, Root, NamesIn<Fields> | KnownKeys<Root>> & OpenObject>
  : [Exclude<NamesIn<Fields>, ""> | KnownKeys<Root>] extends [never] ? EmptyObject
  : FieldsOf<Fields, Root, NamesIn<Fields> | KnownKeys<Root>>;

type FieldsOf<Fields, Root, Names> = {
  readonly [Name in Exclude<Names, ""> & string]?: Name extends Inherited ? unknown
    : Placed<ChangesAt<Fields, Name>> | RootField<Root, Name>;
};

type KnownKeys<T> = T extends unknown ? keyof { [Key in keyof T as Known<Key>]: 1 } : never;
type Known<Key> = string extends Key ? never : number extends Key ? never : Key;
type IsOpen<T> = true extends
  (T extends unknown ? string extends keyof T ? T extends EmptyObject ? false : true
    : false
    : never) ? true
  : false;

/** The first steps of all targets; the state itself is the one without a name. */
type FieldNames<All> = All extends readonly [infer Path, unknown, unknown] ? FirstStep<Path>
  : never;
type FirstStep<Path> = Path extends `${infer First}.${string}` ? WithoutIndex<First>
  : WithoutIndex<Path>;
type WithoutIndex<Step> = Step extends `${infer Name}[${string}` ? Name : Step & string;

type RootField<Values, Name> = Values extends unknown
  ? Name extends keyof Values ? Exclude<Values[Name], undefined> : never
  : never;

/** The changes at a field, with the rest of their paths; a path with an index is not followed. */
type Within<All, Name> = All extends readonly [infer Path, infer Kind, readonly [infer Type]]
  ? Path extends Name ? Change<"", Kind, Type>
  : Path extends `${Name & string}.${infer Rest}` ? Change<Rest, Kind, Type>
  : Path extends `${Name & string}[${string}` ? Change<"", "value", unknown>
  : never
  : never;

type Here<All, Kind> = All extends readonly ["", Kind, infer Type] ? Type : never;
type Deeper<All> = All extends readonly ["", unknown, unknown] ? never : All;

/** What is at a place that all of these changes are about. */
type Placed<All> = [All] extends [readonly ["", "value", infer Values]] ? Join<Values>
  : [Deeper<All>] extends [never] ? PlacedHere<
      Here<All, "value">,
      Here<All, "element">,
      Here<All, "any key">
    >
  : [Exclude<All, Deeper<All>>] extends [never] ? Created<Deeper<All>>
  : unknown;

/** Objects that are created on the way to a place: with one field, or with any of several. */
type Created<All> = IsUnion<FieldNames<All>> extends true ? {
    readonly [Name in FieldNames<All>]?: Name extends Inherited ? unknown
      : Placed<Within<All, Name>>;
  }
  : { readonly [Name in FieldNames<All>]: Placed<Within<All, Name>> };

type PlacedHere<Values, Elements, Keyed> = [Elements] extends [never]
  ? [Keyed] extends [never] ? Join<Values>
  : [NotEmpty<Values>] extends [never] ? { readonly [key: string]: Join<Keyed> }
  : unknown
  : [Keyed] extends [never] ? Lists<Join<Values>, Values, Elements>
  : unknown;

type NotEmpty<Values> = Values extends readonly [EmptyObject] ? never : Values;

/** Lists, and what else may be there; elements of all of them become one. */
type Lists<All, Values, Elements> = unknown extends All ? unknown
  : Exclude<All, readonly unknown[]> | readonly Join<Elements | ElementsIn<Values>>[];
type ElementsIn<Values> = Values extends readonly [readonly (infer Element)[]]
  ? [Element] extends [never] ? never : readonly [Element]
  : never;

/** One type of several, each in a tuple of its own. Objects become one, as states of them may. */
type Join<Values> = Unpacked<Values> extends Scalar ? Unpacked<Values>
  : IsUnion<Values> extends true ? Joined<Unpacked<Values>>
  : Unpacked<Values>;
type Scalar = string | number | boolean | null;
type Unpacked<Values> = Values extends readonly [infer Type] ? Type : never;

type Joined<T> = unknown extends T ? unknown
  : IsUnion<PlainObjects<T>> extends true
    ? Exclude<T, PlainObjects<T>> | JoinedObjects<PlainObjects<T>>
  : T;
type PlainObjects<T> = T extends readonly unknown[] ? never : T extends object ? T : never;

/** Fields that all have are required; all others are optional. */
type JoinedObjects<T> = IsOpen<T> extends true ? OpenObject
  :
    & {
      readonly [Name in CommonKeys<T>]: Valued<T, Name>;
    }
    & {
      readonly [Name in Exclude<KnownKeys<T>, CommonKeys<T>>]?: Name extends Inherited ? unknown
        : Valued<T, Name>;
    };

type Valued<T, Name> = T extends unknown ? Name extends keyof T ? T[Name] : never : never;
type RequiredKeys<T> = keyof {
  [Key in keyof T as Record<never, never> extends Pick<T, Key> ? never : Known<Key>]: 1;
};
type CommonKeys<T> = KnownKeys<T> extends infer Key
  ? Key extends unknown
    ? [T] extends [infer All] ? false extends HasKey<All, Key> ? never : Key : never
  : never
  : never;
type HasKey<T, Key> = T extends unknown ? Key extends RequiredKeys<T> ? true : false : never;

type IsUnion<T, All = T> = [T] extends [never] ? false
  : T extends unknown ? [All] extends [T] ? false : true
  : never;
