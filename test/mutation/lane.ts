/** A process of its own around the thread that runs mutants: one that eats all memory may take the whole process with it. */
import path from 'node:path';
import { Runner } from './pool.ts';
import type { Task } from './worker.ts';

const runner = new Runner(path.resolve(import.meta.dirname, '../..'));

process.on('message', ({ task, most_cpu_ms }: { readonly task: Task; readonly most_cpu_ms: number }) => {
  void runner.run(task, most_cpu_ms).then((ran) => process.send?.(ran));
});
process.once('disconnect', () => process.exit());
