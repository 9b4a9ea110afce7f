// A classifier of support tickets, version by version: what a team would have behind a model stands here as rules.
// It reads one JSON document on stdin and prints one, so it runs as an agent of kind `command`.
import { text } from 'node:stream/consumers';

const version = process.argv[2] ?? '1';
const { case: item } = JSON.parse(await text(process.stdin));
const ticket = item.input.toLowerCase();
const rules = [
  [
    'billing',
    version === '2' ? /charge|invoice|refund|pay(?!ing)|price/ : /charge|invoice|refund|pay|price|card|money/,
  ],
  ['account', /log ?in|password|account|email/],
  ['technical', /crash|error|load|fail|slow|does not/],
];
const label = rules.find(([, words]) => words.test(ticket))?.[0] ?? 'technical';
process.stdout.write(JSON.stringify({ structured: { label } }));
