/**
 * The types of states by their handlers, at the level of types. What handlers say beyond what is
 * known here makes a field `unknown`.
 */

import type { EmptyObject, EventData, Flat, Inherited, OpenObject } from "./schema_types.ts";

type Kind = "value" | "element" | "any key" | "module";

/**
 * What one operation adds to a state, at a path: a value, an element, or a value at any key. A
 * module may make any state. Types of changes are members of interfaces, because the compiler works
 * those out when they are asked for: only for the fields that a program reads.
 */
interface Change {
  readonly path: unknown;
  readonly kind: Kind;
  readonly type: unknown;
}

interface TypedChange<Path, Of extends Kind, Type> {
  readonly path: Path;
  readonly kind: Of;
  readonly type: Type;
}

interface TemplateChange<Path, Of extends Kind, Value, In extends Scope> {
  readonly path: Path;
  readonly kind: Of;
  readonly type: ValueOf<Value, In>;
}

/** Another change at another path. */
interface MovedChange<Path, Of extends Kind, From extends Change> {
  readonly path: Path;
  readonly kind: Of;
  readonly type: From["type"];
}

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
type ChangesOf<Handler, In extends Scope> = Handler extends readonly unknown[]
  ? OperationChanges<Handler[number], In>
  : OperationChanges<Handler, In>;

type OperationChanges<Each, In extends Scope> = Each extends unknown
  ? ChangesNamed<keyof Each, Each, In>
  : never;

/** The changes of an operation by its name, which is one of its keys. */
type ChangesNamed<Name, Each, In extends Scope> = Name extends keyof Each
  ? Name extends "set" | "merge" ? ChangeTo<"value", Each[Name], In>
  : Name extends "append" | "append_unique" | "upsert" ? ChangeTo<"element", Each[Name], In>
  : Name extends "increment" | "decrement" ? ChangeAt<Each[Name], number>
  : Name extends "set_at" | "merge_at" ? KeyedChange<Each[Name], In>
  : Name extends "increment_at" ? KeyedCount<Each[Name]>
  : Name extends "if" ? IfChanges<Each, In>
  : Name extends "let" ? LetChanges<Each, In>
  : Name extends "map" | "update_where" ? ChangeAt<Each[Name], unknown>
  : never
  : never;

type IfChanges<Each, In extends Scope> =
  | (Each extends { readonly then: infer Then } ? ChangesOf<Then, In> : never)
  | (Each extends { readonly else: infer Else } ? ChangesOf<Else, In> : never);

type LetChanges<Each, In extends Scope> = Each extends
  { readonly let: infer Names; readonly then: infer Then } ? ChangesOf<
    Then,
    { readonly data: In["data"]; readonly type: In["type"]; readonly names: Bound<Names, In> }
  >
  : never;

type Bound<Names, In extends Scope> =
  & { readonly [Name in keyof Names as Unmarked<Name>]: ValueOf<Names[Name], In> }
  & Omit<In["names"], Unmarked<keyof Names>>;
type Unmarked<Name> = Name extends `$${infer Plain}` ? Plain : Name & string;

interface Target {
  readonly target: unknown;
}

interface TargetAndValue extends Target {
  readonly value: unknown;
}

type ChangeAt<Fields, Type> = Fields extends Target ? TypedChange<Fields["target"], "value", Type>
  : never;

type ChangeTo<Of extends Kind, Fields, In extends Scope> = Fields extends TargetAndValue
  ? TemplateChange<Fields["target"], Of, Fields["value"], In>
  : never;

type KeyedChange<Fields, In extends Scope> = Fields extends
  { readonly target: infer Path; readonly key: infer Key; readonly value: infer Value }
  ? AtKey<Path, Key, TemplateChange<"", "value", Value, In>>
  : never;

type KeyedCount<Fields> = Fields extends { readonly target: infer Path; readonly key: infer Key }
  ? AtKey<Path, Key, TypedChange<"", "value", number>>
  : never;

/** A key that is a plain text is a field. */
type AtKey<Path, Key, From extends Change> = Key extends `$${string}` | `@${string}` | object
  ? MovedChange<Path, "any key", From>
  : Key extends `${string}.${string}` | "" ? TypedChange<Path, "value", unknown>
  : Path extends "" ? MovedChange<Key, "value", From>
  : MovedChange<`${Path & string}.${Key & string}`, "value", From>;

/** The changes of all event types. */
type AllChanges<Events> = {
  [Type in keyof Events & string]: Events[Type] extends { readonly handler: infer Handler }
    ? Handler extends { readonly wasm: unknown } ? TypedChange<"", "module", unknown>
    : ChangesOf<Handler, {
      readonly data: EventData<Events[Type]>;
      readonly type: Type;
      readonly names: Record<never, never>;
    }>
    : never;
}[keyof Events & string];

/** The first step of a path; the state itself is the one without a name. */
type FirstStep<Path> = Path extends `${infer First}.${string}` ? WithoutIndex<First>
  : WithoutIndex<Path>;
type WithoutIndex<Step> = Step extends `${infer Name}[${string}` ? Name : Step & string;

/** Changes behind the first step of their paths; a step with an index is not followed. */
type Further<Each extends Change> = Each extends unknown
  ? Each["path"] extends `${infer First}.${infer Rest}`
    ? First extends `${string}[${string}` ? TypedChange<"", "value", unknown>
    : MovedChange<Rest, Each["kind"], Each>
  : Each["path"] extends `${string}[${string}` ? TypedChange<"", "value", unknown>
  : MovedChange<"", Each["kind"], Each>
  : never;

/** The state of an aggregate type. */
export type StateOf<Events> = StateBy<AllChanges<Events>>;

type StateBy<All extends Change> = [All] extends [never] ? EmptyObject
  : "" extends FirstStep<All["path"]> ? StateWithRoot<All, RootChanges<All>>
  : StateFields<All, never>;

/**
 * The fields of a state. Changes of the same field come together by its name, so that each is
 * looked at once: an aggregate type may have hundreds of changes, and of fields.
 */
type StateFields<All extends Change, Root> = {
  readonly [Each in All as Exclude<FirstStep<Each["path"]>, "">]?:
    | FieldType<FirstStep<Each["path"]>, Each>
    | RootField<Root, FirstStep<Each["path"]>>;
};

type FieldType<Name, All extends Change> = Name extends Inherited ? unknown : Placed<Further<All>>;

/** The changes of the state itself. */
type RootChanges<All extends Change> = All extends unknown
  ? "" extends FirstStep<All["path"]> ? Further<All> : never
  : never;

type StateWithRoot<All extends Change, Changes extends Change> = "module" extends Changes["kind"]
  ? OpenObject
  : StateWithValues<All, RootValues<Changes>>;

type StateWithValues<All extends Change, Root> = [Root] extends [never] ? StateFields<All, never>
  : IsOpen<Root> extends true
    ? Flat<StateFields<All, Root> & RootFields<Root, FirstStep<All["path"]>> & OpenObject>
  : [Exclude<FirstStep<All["path"]>, ""> | KnownKeys<Root>] extends [never] ? EmptyObject
  : Flat<StateFields<All, Root> & RootFields<Root, FirstStep<All["path"]>>>;

/** The values that are merged into the state itself. */
type RootValues<All extends Change> = All extends unknown
  ? All["path"] extends ""
    ? All["kind"] extends "value"
      ? unknown extends All["type"] ? OpenObject : Extract<All["type"], object>
    : All["kind"] extends "any key" ? OpenObject
    : never
  : never
  : never;

/** Fields that only these values have. */
type RootFields<Root, Others> = {
  readonly [Name in Exclude<KnownKeys<Root>, Others> & string]?: Name extends Inherited ? unknown
    : RootField<Root, Name>;
};

type KnownKeys<T> = T extends unknown ? keyof { [Key in keyof T as Known<Key>]: 1 } : never;
type Known<Key> = string extends Key ? never : number extends Key ? never : Key;
type IsOpen<T> = true extends
  (T extends unknown ? string extends keyof T ? T extends EmptyObject ? false : true
    : false
    : never) ? true
  : false;

type RootField<Values, Name> = Values extends unknown
  ? Name extends keyof Values ? Exclude<Values[Name], undefined> : never
  : never;

/** What is at a place that all of these changes are about. */
type Placed<All extends Change> = [All["path"]] extends [""]
  ? [All["kind"]] extends ["value"] ? Join<All> : PlacedHere<
    OfKind<All, "value">,
    OfKind<All, "element">,
    OfKind<All, "any key">
  >
  : "" extends All["path"] ? unknown
  : Created<All>;

type OfKind<All extends Change, Of extends Kind> = All extends unknown
  ? All["kind"] extends Of ? All : never
  : never;

/** Objects that are created on the way to a place: with one field, or with any of several. */
type Created<All extends Change> = IsUnion<FirstStep<All["path"]>> extends true ? {
    readonly [Each in All as FirstStep<Each["path"]>]?: FieldType<FirstStep<Each["path"]>, Each>;
  }
  : { readonly [Each in All as FirstStep<Each["path"]>]: Placed<Further<Each>> };

type PlacedHere<
  Values extends Change,
  Elements extends Change,
  Keyed extends Change,
> = [Elements] extends [never]
  ? [NotEmpty<Values>] extends [never] ? { readonly [key: string]: Join<Keyed> } : unknown
  : [Keyed] extends [never] ? Lists<Join<Values>, Elements>
  : unknown;

type NotEmpty<Values> = Values extends { readonly type: EmptyObject } ? never : Values;

/** Lists, and what else may be there; elements of all of them become one. */
type Lists<Values, Elements extends Change> = unknown extends Values ? unknown
  : Exclude<Values, readonly unknown[]> | readonly Join<Elements | ElementsIn<Values>>[];
type ElementsIn<Values> = Values extends readonly (infer Element)[]
  ? [Element] extends [never] ? never : TypedChange<"", "element", Element>
  : never;

/** One type of those of several changes. Objects become one, as states of them may. */
type Join<All extends Change> = All["type"] extends Scalar ? All["type"]
  : IsUnion<Boxed<All>> extends true ? Joined<All["type"]>
  : All["type"];
type Boxed<All extends Change> = All extends unknown ? readonly [All["type"]] : never;
type Scalar = string | number | boolean | null;

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
