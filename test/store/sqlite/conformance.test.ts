import { openSqliteStore } from '../../../src/store/sqlite/store.ts';
import { storeConformance } from '../../conformance/store-suite.ts';
import { FakeClock, temporaryFolder } from '../../support/store-fixture.ts';

storeConformance('SQLite in a file', async () => {
  const folder = temporaryFolder();
  const clock = new FakeClock();
  const store = openSqliteStore({ path: folder.file('proctor.db'), clock });
  return {
    store,
    now: () => clock.now(),
    advance: (ms) => clock.advance(ms),
    openBackup: async () => {
      const copy = folder.file('backup.db');
      await store.backup(copy);
      return openSqliteStore({ path: copy, clock });
    },
    [Symbol.asyncDispose]: async () => {
      await store.close();
      folder[Symbol.dispose]();
    },
  };
});
