import { expect, test } from 'vitest';
import { revisionNote } from '../../src/core/revision-note.ts';

const note = (number: number, latest: number) =>
  revisionNote({
    revision: { number, latest, corrected_by: number === 0 ? null : 'ada', own: { gate_status: 'fail' } },
  } as unknown as Parameters<typeof revisionNote>[0]);

test('a document says which verdict it tells, where grades were corrected', () => {
  expect(revisionNote({ revision: null })).toBeNull();
  expect(note(0, 2)).toBe("the run's own verdict; revision 2 is the last");
  expect(note(1, 2)).toBe("revision 1 of 2 by ada; the run's own verdict is fail");
  expect(note(2, 2)).toBe("revision 2 by ada; the run's own verdict is fail");
});
