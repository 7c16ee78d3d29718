/** Finds cycles in a graph of numbered nodes. */

/** The nodes of one cycle in order, or undefined if the graph has none. */
export function findCircle(
  nodes: number,
  after: (node: number) => readonly number[],
): number[] | undefined {
  const done = new Uint8Array(nodes);
  const place = new Map<number, number>();
  const path: number[] = [];
  const next: number[] = [];
  for (let start = 0; start < nodes; start++) {
    if (done[start] === 1) continue;
    enter(start);
    while (path.length > 0) {
      const node = path.at(-1)!;
      const then = after(node)[next.at(-1)!];
      next[next.length - 1]!++;
      if (then === undefined) leave();
      else if (place.has(then)) return path.slice(place.get(then)!);
      else if (done[then] !== 1) enter(then);
    }
  }
  return undefined;

  function enter(node: number): void {
    place.set(node, path.length);
    path.push(node);
    next.push(0);
  }

  function leave(): void {
    const node = path.pop()!;
    next.pop();
    place.delete(node);
    done[node] = 1;
  }
}
