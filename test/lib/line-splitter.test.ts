import { expect, test } from 'vitest';
import { type Line, LineSplitter } from '../../src/lib/line-splitter.ts';

const TEXT = '\n\n\ufeffa\n\n\n b\r\n\r\n\nlong\n\n\n\nc\n\n';

function linesOf(text: string, size: number, splitter: LineSplitter): { lines: unknown[]; next: number } {
  const bytes = Buffer.from(text);
  const lines: Line[] = [];
  for (let at = 0; at < bytes.length; at += size) lines.push(...splitter.push(bytes.subarray(at, at + size)));
  const last = splitter.end();
  const told = [...lines, ...(last ? [last] : [])].map((line) => ({ ...line, bytes: String(line.bytes) }));
  return { lines: told, next: splitter.lineNumber };
}

test('empty lines are counted and not handed on where they are skipped, wherever chunks end', () => {
  for (const text of [TEXT, TEXT.trim(), `\ufeff${TEXT}`, '\n'.repeat(50)])
    for (let size = 1; size <= 12; size += 1) {
      const whole = linesOf(text, size, new LineSplitter(100));
      const skipped = linesOf(text, size, new LineSplitter(100, { skip_empty: true }));
      const wanted = whole.lines.filter((line) => (line as Line).size > 0);
      expect({ size, lines: skipped.lines, next: skipped.next }).toEqual({ size, lines: wanted, next: whole.next });
    }
});
