/** "Did you mean ...": the known name nearest to a mistyped one. */

/** Longer words are never compared: the cost stays bounded whatever was sent. */
const LENGTH_MAX = 64;

/** The nearest of `known` within two edits (one for short words), or undefined. */
export function nearestName(word: string, known: Iterable<string>): string | undefined {
  if (word.length > LENGTH_MAX) return undefined;
  const lower = word.toLowerCase();
  let best: string | undefined;
  let bestDistance = word.length <= 4 ? 2 : 3;
  for (const candidate of known) {
    if (candidate.length > LENGTH_MAX || candidate === word) continue;
    const distance = editDistance(lower, candidate.toLowerCase());
    if (distance < bestDistance) [best, bestDistance] = [candidate, distance];
  }
  return best;
}

/** `Did you mean "x"?`, or `otherwise` where nothing is near. */
export function didYouMean(word: string, known: Iterable<string>, otherwise: string): string {
  const nearest = nearestName(word, known);
  return nearest === undefined ? otherwise : `Did you mean "${nearest}"?`;
}

/** Insertions, deletions, replacements and swaps of neighbours that turn `a` into `b`. */
function editDistance(a: string, b: string): number {
  let beforePrevious: number[] = [];
  let previous = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const cost = a[i - 1] === b[j - 1] ? 0 : 1;
      let distance = Math.min(previous[j]! + 1, row[j - 1]! + 1, previous[j - 1]! + cost);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        distance = Math.min(distance, beforePrevious[j - 2]! + 1);
      }
      row.push(distance);
    }
    [beforePrevious, previous] = [previous, row];
  }
  return previous[b.length]!;
}
