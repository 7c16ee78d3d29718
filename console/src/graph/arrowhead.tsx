/** The end of a line that leads from a cause to what it has set off. */

const LENGTH = 9;

/** To be named by {@link arrowEnd}; `id` is one of the whole page. */
export function Arrowhead({ id }: { id: string }) {
  return (
    <defs>
      <marker
        id={id}
        class="arrowhead"
        viewBox={`0 0 ${LENGTH} ${LENGTH}`}
        refX={LENGTH}
        refY={LENGTH / 2}
        markerWidth={LENGTH}
        markerHeight={LENGTH}
        markerUnits="userSpaceOnUse"
        orient="auto"
      >
        <path d={`M0,0 L${LENGTH},${LENGTH / 2} L0,${LENGTH} Z`} />
      </marker>
    </defs>
  );
}

export function arrowEnd(id: string): { readonly "marker-end": string } {
  return { "marker-end": `url(#${id})` };
}
