/**
 * A value of JSON as a tree that opens and closes. Whatever it holds is shown as text. Long texts
 * and long lists show their beginning, and more on demand, so that no value can stall the page.
 */

import type { ComponentChildren } from "preact";
import { useMemo, useState } from "preact/hooks";
import { ownMember } from "../shell/own_member.ts";
import { shownName } from "./shown_path.ts";

export type JsonPath = readonly (string | number)[];

export interface JsonViewProps {
  readonly value: unknown;
  /** How many levels are open at first. */
  readonly openLevels?: number;
  /** What the value was: all that differs is marked. */
  readonly comparedWith?: { readonly before: unknown } | undefined;
  /** What stands behind a value, for example a button. Each new function draws all again. */
  readonly after?: ((path: JsonPath) => ComponentChildren) | undefined;
}

/** So much of a text, and so many members, are shown at once. */
const CHARACTERS_SHOWN = 400;
const MEMBERS_SHOWN = 100;
/** What is inside of others is open at first only as far as all of it has about so many lines. */
const LINES_OPEN = 300;

export function JsonView({ value, openLevels = 3, comparedWith, after }: JsonViewProps) {
  const tree = useMemo(() => ({ openLevels, after }), [openLevels, after]);
  const before = comparedWith === undefined ? value : comparedWith.before;
  return (
    <div class="json">
      <Node value={value} before={before} path={[]} tree={tree} room={LINES_OPEN} />
    </div>
  );
}

type Tree = Pick<JsonViewProps, "after"> & { readonly openLevels: number };

interface NodeProps {
  readonly name?: string;
  readonly value: unknown;
  readonly before: unknown;
  readonly path: JsonPath;
  readonly tree: Tree;
  /** Lines that may be open below it at first. */
  readonly room: number;
}

/** Is not drawn again as long as its value, and what that was, are the same objects. */
function Node(props: NodeProps) {
  const { value, before, tree } = props;
  return useMemo(() => <DrawnNode {...props} />, [value, before, tree]);
}

function DrawnNode({ name, value, before, path, tree, room }: NodeProps) {
  const label = name === undefined ? null : <bdi class="json-name">{shownName(name)}</bdi>;
  const mark = isMarked(value, before) ? "changed" : undefined;
  if (typeof value !== "object" || value === null) {
    return (
      <div class={`json-line ${mark ?? ""}`}>
        {label} <Scalar value={value} /> {tree.after?.(path)}
      </div>
    );
  }
  // Inside of what is new as a whole nothing is marked.
  const inside = mark === undefined ? before : value;
  return <Branch {...{ label, value, path, tree, room, mark }} before={inside as object} />;
}

/** Objects and lists that were already there are marked inside, at what differs. */
function isMarked(value: unknown, before: unknown): boolean {
  if (Object.is(value, before)) return false;
  return !(isBranch(value) && isBranch(before) && Array.isArray(value) === Array.isArray(before));
}

function isBranch(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

interface BranchProps extends Omit<NodeProps, "name"> {
  readonly value: object;
  readonly before: object;
  readonly label: ComponentChildren;
  readonly mark: string | undefined;
}

function Branch({ label, value, before, path, tree, room, mark }: BranchProps) {
  const [shown, setShown] = useState(MEMBERS_SHOWN);
  const isList = Array.isArray(value);
  // A list may be long, and this is drawn again with each change: only what is shown is named.
  const names = isList ? indexesOf(Math.min(value.length, shown)) : Object.keys(value);
  const count = isList ? value.length : names.length;
  const lines = Math.min(count, MEMBERS_SHOWN);
  const [isOpen, setOpen] = useState(
    path.length < tree.openLevels && (path.length === 0 || lines <= room),
  );
  const summary = isList ? `[${count}]` : `{${count}}`;
  if (count === 0) {
    return (
      <div class={`json-line ${mark ?? ""}`}>
        {label} {isList ? "[]" : "{}"} {tree.after?.(path)}
      </div>
    );
  }
  return (
    <details
      open={isOpen}
      class={mark}
      onToggle={(event) => setOpen(event.currentTarget.open)}
    >
      <summary>
        {label} <span class="quiet">{summary}</span> {tree.after?.(path)}
      </summary>
      {isOpen && names.slice(0, shown).map((name) => (
        <Node
          key={name}
          name={name}
          value={ownMember(value, name)}
          before={ownMember(before, name)}
          path={[...path, isList ? Number(name) : name]}
          tree={tree}
          room={Math.floor((room - lines) / lines)}
        />
      ))}
      {isOpen && count > shown && (
        <button
          type="button"
          class="small"
          onClick={() => setShown(shown + MEMBERS_SHOWN)}
        >
          {`Show more of ${count}`}
        </button>
      )}
    </details>
  );
}

function indexesOf(count: number): string[] {
  return Array.from({ length: count }, (_, index) => String(index));
}

function Scalar({ value }: { value: unknown }) {
  const [shown, setShown] = useState(CHARACTERS_SHOWN);
  if (typeof value !== "string") return <span class="json-value">{String(value)}</span>;
  // Marks that turn the direction of writing must not reach beyond the value.
  const text = <bdi class="json-text">{JSON.stringify(value.slice(0, shown))}</bdi>;
  if (value.length <= shown) return text;
  return (
    <>
      {text}{" "}
      <button type="button" class="small" onClick={() => setShown(shown * 10)}>
        {`Show more of ${value.length.toLocaleString("en")} characters`}
      </button>
    </>
  );
}
