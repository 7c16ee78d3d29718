/** The bench's spec with many aggregate types, all alike. */

import { BENCH_SPEC } from "../bench/requests.ts";

export const TYPES = 256;

export function typeName(number: number): string {
  return `account_${number}`;
}

export function typesSpec(): object {
  const { account } = BENCH_SPEC.aggregate_types;
  const names = Array.from({ length: TYPES }, (_, number) => typeName(number));
  const types = Object.fromEntries(names.map((name) => [name, account]));
  return { ...BENCH_SPEC, aggregate_types: { account, ...types } };
}
