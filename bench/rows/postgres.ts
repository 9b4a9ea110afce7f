import { completionOf, createSpike } from '../../test/store/postgres/spike-fixture.ts';
import { claim, complete, sequence } from '../../test/store/postgres/spike-store.ts';
import { missingPostgres, startPostgres } from '../../test/support/postgres.ts';
import { type Row, shown, told } from '../row.ts';

const WORKERS = 4;
const BATCH = 16;

/** What the statements of the PostgreSQL spike do in a second; information without a bar. */
export const postgres: Row = {
  name: 'postgres',
  title: `claims and completions in PostgreSQL, ${WORKERS} workers in batches of ${BATCH}`,
  async measure({ quick }) {
    const missing = await missingPostgres();
    if (missing !== null) return { figures: [told('left out', missing)], details: {} };
    await using server = await startPostgres({ shared_buffers: '128MB', jit: 'off' });
    const spike = await createSpike(server, { executions: 10_000, concurrency: 128, sessions: WORKERS });
    const clients = await Promise.all(spike.sessions.map(() => spike.connect()));
    const begun = performance.now();
    const until = begun + (quick ? 2_000 : 5_000);
    const done = await Promise.all(
      clients.map(async (client, index) => {
        let written = 0;
        while (performance.now() < until) {
          const request = { session_id: spike.sessions[index] ?? '', run_id: spike.run_id, n: BATCH, lease_ms: 60_000 };
          const held = await claim(client, request);
          if (held.length === 0) break;
          const outcomes = await complete(
            client,
            held.map((one) => completionOf(one)),
          );
          written += outcomes.filter((outcome) => outcome === 'written').length;
        }
        return written;
      }),
    );
    const rate = done.reduce((sum, n) => sum + n) / ((performance.now() - begun) / 1_000);
    const from = performance.now();
    const events = await sequence(spike.client, spike.run_id);
    const numbered = events / ((performance.now() - from) / 1_000);
    return {
      figures: [
        told('executions a second, two rows of evidence each', shown(rate), server.version),
        told('events a second, numbered by one sequencer', shown(numbered)),
      ],
      details: { done, rate, numbered },
    };
  },
};
