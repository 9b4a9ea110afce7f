import { existsSync, readFileSync } from 'node:fs';

// Preloaded into a process whose wall clock is to be wrong: PROCTOR_TEST_CLOCK names a file with the milliseconds by which it is, which a test
// may change while the process runs. Only Date is moved; monotonic clocks and timers go on, as they do when somebody sets a machine's clock.
const file = process.env['PROCTOR_TEST_CLOCK'];
const RealDate = Date;
let shift = 0;
let looked = Number.NEGATIVE_INFINITY;

function now() {
  const at = performance.now();
  if (at - looked > 20) {
    looked = at;
    if (file !== undefined && existsSync(file)) shift = Number(readFileSync(file, 'utf8')) || 0;
  }
  return RealDate.now() + shift;
}

globalThis.Date = class extends RealDate {
  constructor(...values) {
    super(...(values.length === 0 ? [now()] : values));
  }

  static now() {
    return now();
  }
};
