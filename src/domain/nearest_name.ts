/** "Did you mean ...": finds the known name nearest to a mistyped one. */

/** Longer words are not compared, so the cost stays bounded whatever a client sends. */
const LENGTH_MAX = 64;

/** The nearest of `known` within two edits (one for short words), or undefined. */
export function nearestName(word: string, known: Iterable<string>): string | undefined {
  if (word.length > LENGTH_MAX) return undefined;
  const lower = word.toLowerCase();
  let best: string | undefined;
  let edits = word.length <= 4 ? 1 : 2;
  for (const candidate of known) {
    if (candidate.length > LENGTH_MAX || candidate === word) continue;
    // From here on only a nearer candidate counts.
    for (; edits >= 0 && isWithin(lower, candidate.toLowerCase(), edits); edits--) best = candidate;
  }
  return best;
}

/** `Did you mean "x"?`, or `otherwise` when no name is near. */
export function didYouMean(word: string, known: Iterable<string>, otherwise: string): string {
  return nameHint(word, known) ?? otherwise;
}

/** A name is compared with at most this many known names, to bound the cost. */
const COMPARED_MAX = 500;

/** `Did you mean "x"?`, or undefined when no name is near. */
export function nameHint(word: string, known: Iterable<string>): string | undefined {
  const nearest = nearestName(word, firstOf(known, COMPARED_MAX));
  return nearest === undefined ? undefined : `Did you mean "${nearest}"?`;
}

function* firstOf(names: Iterable<string>, count: number): Generator<string> {
  let left = count;
  for (const name of names) {
    if (left-- === 0) return;
    yield name;
  }
}

/** A hint lists at most this many names. */
const LISTED_MAX = 10;

/** `a, b, c`, for hints: the first names, each shortened, behind `prefix`. */
export function listNames(names: Iterable<string>, prefix = ""): string {
  const shown = [...firstOf(names, LISTED_MAX + 1)].map((name) =>
    prefix + (name.length > LENGTH_MAX ? `${name.slice(0, LENGTH_MAX)}...` : name)
  );
  if (shown.length > LISTED_MAX) shown[LISTED_MAX] = "...";
  return shown.join(", ");
}

/**
 * Whether at most `edits` insertions, deletions, replacements and swaps of neighbours turn `a`
 * into `b`. Recursive instead of filling a distance table: a spec may have ten thousand names, and
 * the first letters rule out nearly all of them.
 */
function isWithin(a: string, b: string, edits: number): boolean {
  /** The same of the rest of `a` from `i`, and of `b` from `j`. */
  function isRestWithin(edits: number, i: number, j: number): boolean {
    if (Math.abs(a.length - i - (b.length - j)) > edits) return false;
    while (i < a.length && a[i] === b[j]) [i, j] = [i + 1, j + 1];
    if (i === a.length && j === b.length) return true;
    if (edits === 0) return false;
    const left = edits - 1;
    const isSwap = i + 1 < a.length && a[i] === b[j + 1] && a[i + 1] === b[j];
    return isRestWithin(left, i + 1, j + 1) || isRestWithin(left, i + 1, j) ||
      isRestWithin(left, i, j + 1) || (isSwap && isRestWithin(left, i + 2, j + 2));
  }
  return isRestWithin(edits, 0, 0);
}
