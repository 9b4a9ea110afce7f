/** n over k, exactly. */
export function binomial(n: number, k: number): bigint {
  let value = 1n;
  for (let i = 1; i <= k; i += 1) value = (value * BigInt(n - k + i)) / BigInt(i);
  return value;
}

/** The quotient of two whole numbers as the number nearest to it, to 60 bits. */
export function quotient(over: bigint, under: bigint): number {
  return Number((over << 120n) / under) / 2 ** 120;
}
