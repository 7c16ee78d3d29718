/** SQL that is slow to parse or to run, over the table `t` with the columns `n` and `t`. */

import { repeat } from "../documents.ts";
import type { Random } from "./random.ts";

export function randomStatement(random: Random, scale: number): string {
  const many = (limit: number) => random.size(Math.max(1, Math.floor(limit * scale)));
  const choices: (() => string)[] = [
    () => `select ${expression(random, 3, scale)} as x from t`,
    () =>
      `select ${expression(random, 2, scale)} as x from t a, t b where a.n <> b.n`.replaceAll(
        /\b([nt])\b(?! (?:a|b)\b)(?=[^.]|$)/g,
        "$1",
      ),
    () => `select count(*) as x from t ${repeat(many(6), (i) => `, t j${i}`).join(" ")}`,
    () =>
      `with recursive c(x) as (select 1 union all select x + 1 from c limit ${
        many(1e7)
      }) select sum(x) as x from c`,
    () =>
      `with recursive c(x) as (select 'a' union all select x || x from c limit ${
        many(40)
      }) select length(x) as x from c`,
    () =>
      repeat(many(400), () => "select n as x from t").join(
        random.pick([" union ", " union all ", " except ", " intersect "]),
      ),
    () => `select n as x from t where n in (${repeat(many(15_000), (i) => i).join(",")})`,
    () => `select ${repeat(many(1_900), (i) => `n+${i} as c${i}`).join(",")} from t`,
    () =>
      `select n as x from t where ${
        repeat(many(900), (i) => `n=${i}`).join(random.pick([" or ", " and "]))
      }`,
    () =>
      `select n as x, row_number() over (order by t) as y, sum(n) over (order by t rows between 1000 preceding and 1000 following) as z from t`,
    () =>
      `select group_concat(t, '${"x".repeat(many(20_000))}') as x from t group by n % ${
        1 + random.below(9)
      } order by 1`,
    () => garbage(random, many(90_000)),
  ];
  return random.pick(choices)().slice(0, 99_900);
}

function expression(random: Random, depth: number, scale: number): string {
  const inner = () => expression(random, depth - 1, scale);
  const many = (limit: number) => random.size(Math.max(1, Math.floor(limit * scale)));
  if (depth === 0) {
    return random.pick(["n", "t", "1", "'a'", "key", "null", `'${"a".repeat(many(2_000))}'`]);
  }
  return random.pick<() => string>([
    () => `replace(${inner()}, 'a', '${"a".repeat(many(60))}')`,
    () => `printf('%${many(8_000_000)}s', ${inner()})`,
    () => `hex(zeroblob(${many(4_000_000)}))`,
    () => `length(${inner()})`,
    () => `(${inner()} like '${"%a".repeat(many(60))}%b')`,
    () => `(${inner()} glob '${"*a".repeat(many(60))}*b')`,
    () => `instr(${inner()}, ${inner()})`,
    () => `upper(${inner()}) || lower(${inner()})`,
    () => `(select count(*) from json_each(json_array(${repeat(many(50), inner).join(",")})))`,
    () => `json_extract('${"[".repeat(many(900))}${"]".repeat(many(900))}', '$')`,
    () => `(select max(${inner()}) from t u)`,
    () => `case when ${inner()} then ${inner()} else ${inner()} end`,
    () => `coalesce(${repeat(1 + many(60), inner).join(",")})`,
    () => `substr(${inner()}, ${random.below(9)}, ${many(1e6)})`,
    () => `cast(${inner()} as blob) || ${inner()}`,
    () => `quote(${inner()})`,
  ])();
}

/** Hardly a statement, but long: the code that reads the text before SQLite must read all of it. */
function garbage(random: Random, length: number): string {
  const unit = random.pick([
    "?,",
    ":(a",
    "$a::b(",
    "'",
    '"',
    "`",
    "[",
    "--\n",
    "/*",
    "*/",
    "(",
    ")",
    ";",
    "@a,",
    "?1,",
    "x'00',",
    "\n",
    "1e",
    "||",
    "\u00e9",
  ]);
  const second = random.pick(["", "", "a", "'", "\n", "*/"]);
  return `select ${
    `${unit}${second}`.repeat(Math.ceil(length / (unit.length + second.length)))
  } from t`;
}
