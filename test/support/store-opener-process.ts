import { openSqliteStore } from '../../src/store/sqlite/store.ts';
import { newSession } from './store-fixture.ts';

/** A process that opens a store at the parent's word and leaves a session in it: `node FILE STORE SESSION`. */
const [path = '', session_id = ''] = process.argv.slice(2);
const go = new Promise((resolve) => process.once('message', resolve));
process.send?.('ready');
await go;
try {
  const store = openSqliteStore({ path });
  await store.openSession(newSession(session_id));
  const missing = store.triggerProblems();
  await store.close();
  process.send?.({ session_id, missing });
} catch (error) {
  process.send?.({ session_id, error: String(error) });
}
process.disconnect();
