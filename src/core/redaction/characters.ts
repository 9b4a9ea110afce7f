/** A table by code unit: each character's place in its row, `otherwise` for every one that is in no row. */
export function tableOf(rows: readonly string[], otherwise: number): Uint8Array {
  const table = new Uint8Array(65_536).fill(otherwise);
  for (const row of rows) for (let index = 0; index < row.length; index += 1) table[row.charCodeAt(index)] = index;
  return table;
}

/** A table by code unit: 1 for the characters given, 0 for the others. */
export function setOf(characters: string): Uint8Array {
  const table = new Uint8Array(65_536);
  for (let index = 0; index < characters.length; index += 1) table[characters.charCodeAt(index)] = 1;
  return table;
}
