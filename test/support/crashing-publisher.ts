/**
 * A publisher that is killed at one of its writes: sends what is due in the project of the current folder and dies by SIGKILL before or
 * after write number N.
 *
 *   node crashing-publisher.ts before|after N
 */
import { createApp } from '../../src/app.ts';
import type { Store } from '../../src/contract/store.ts';
import { publishDue } from '../../src/engine/publish.ts';

const [when, number] = process.argv.slice(2);
const app = await createApp({ cwd: process.cwd(), environment: process.env });
let writes = 0;

async function write<T>(make: () => Promise<T>): Promise<T> {
  writes += 1;
  const last = writes === Number(number);
  if (last && when === 'before') process.kill(process.pid, 'SIGKILL');
  const made = await make();
  if (last) process.kill(process.pid, 'SIGKILL');
  return made;
}

const store: Store = {
  ...app.store,
  claimDeliveries: (...args) => write(() => app.store.claimDeliveries(...args)),
  settleDelivery: (end) => write(() => app.store.settleDelivery(end)),
};
await publishDue({ ...app, store }, new AbortController().signal);
await app[Symbol.asyncDispose]();
