/** `multipleOf` in decimal arithmetic: 19.99 is a multiple of 0.01, as its writer means it. */

/** True when `value` divided by `divisor` (above 0) is an integer, in the digits as written. */
export function isMultipleOf(value: number, divisor: number): boolean {
  if (Number.isSafeInteger(value) && Number.isSafeInteger(divisor)) return value % divisor === 0;
  if (!Number.isFinite(value)) return false;
  const [a, b] = [decimal(value), decimal(divisor)];
  const exponent = Math.min(a.exponent, b.exponent);
  return scale(a, exponent) % scale(b, exponent) === 0n;
}

interface Decimal {
  readonly digits: bigint;
  readonly exponent: number;
}

function decimal(value: number): Decimal {
  const [mantissa, power] = String(value).split("e");
  const [whole, fraction = ""] = mantissa!.split(".");
  return { digits: BigInt(whole! + fraction), exponent: Number(power ?? 0) - fraction.length };
}

/** At most some 650 digits: a double's exponent ends near 308 on both sides. */
function scale(value: Decimal, exponent: number): bigint {
  return value.digits * 10n ** BigInt(value.exponent - exponent);
}
