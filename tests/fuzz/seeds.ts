/**
 * The seed and size of a fuzz run: a new seed each time, printed; the environment can repeat
 * it.
 */

export interface FuzzRun {
  readonly seed: number;
  readonly cases: number;
}

/** `FUZZ_SEED` repeats a run, `FUZZ_CASES` changes its size. */
export function fuzzRun(casesByDefault: number): FuzzRun {
  const seed = Number(Deno.env.get("FUZZ_SEED") ?? Math.floor(Math.random() * 2 ** 31));
  const cases = Number(Deno.env.get("FUZZ_CASES") ?? casesByDefault);
  console.log(`fuzz seed ${seed}: repeat with FUZZ_SEED=${seed} FUZZ_CASES=${cases}`);
  return { seed, cases };
}
