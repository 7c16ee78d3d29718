/**
 * The patterns of one spec, each compiled once.
 *
 * The set limits the total time to compile them and the total memory that matching them keeps.
 */

import type { Budget } from "../../../budget.ts";
import { compilePattern, type PatternCompilation } from "./pattern.ts";
import type { LinearPattern } from "./pattern_charge.ts";

/**
 * Maximum instructions of all patterns of a spec. A plain pattern such as
 * `^[A-Z]{2}-[0-9]{1,8}$` has about 20; compiling takes up to 20 microseconds for each
 * instruction.
 */
export const INSTRUCTIONS_MAX = 20_000;

/** What matching may keep between two events, in bytes as the engine counts them. */
export const CACHE_BYTES_MAX = 8 * 1024 * 1024;

export interface PatternSet {
  /** Like {@link compilePattern}, but also refuses what exceeds the set's limit. Never throws. */
  compile(source: string): PatternCompilation;
  /** What matching keeps at present, in bytes as the engine counts them. */
  cacheBytes(): number;
}

interface Member {
  readonly pattern: LinearPattern;
  cacheBytes: number;
}

export function createPatternSet(): PatternSet {
  const compiled = new Map<string, PatternCompilation>();
  const members: Member[] = [];
  let instructionsLeft = INSTRUCTIONS_MAX;
  let held = 0;

  function release(): void {
    for (const member of members) {
      if (member.cacheBytes > 0) member.pattern.clearCache();
      member.cacheBytes = 0;
    }
    held = 0;
  }

  function bounded(pattern: LinearPattern): LinearPattern {
    const member = { pattern, cacheBytes: 0 };
    members.push(member);
    const test = (text: string, budget: Budget) => {
      try {
        return pattern.test(text, budget);
      } finally {
        const cacheBytes = pattern.cacheBytes();
        held += cacheBytes - member.cacheBytes;
        member.cacheBytes = cacheBytes;
        if (held > CACHE_BYTES_MAX) release();
      }
    };
    return { ...pattern, test };
  }

  function compileNew(source: string): PatternCompilation {
    if (instructionsLeft <= 0) return tooMany();
    const result = compilePattern(source);
    // A refused pattern took its time to compile, too.
    instructionsLeft -= result.work;
    if (!result.ok) return result;
    return instructionsLeft < 0 ? tooMany() : { ...result, pattern: bounded(result.pattern) };
  }

  return {
    compile: (source) => {
      const result = compiled.get(source) ?? compileNew(source);
      compiled.set(source, result);
      return result;
    },
    cacheBytes: () => held,
  };
}

function tooMany(): PatternCompilation {
  return {
    ok: false,
    work: 0,
    message: "exceeds the room for patterns: those of a spec may come to " +
      `${INSTRUCTIONS_MAX} instructions together, counted once for each different pattern`,
    hint: "Use smaller repeat counts and fewer different patterns; check lengths with maxLength.",
  };
}
