import { CASES, profile } from '../support/named-files.ts';
import type { Input } from './input.ts';
import { oneOf, randomFor } from './tally.ts';

/** Commands that end by themselves, with as many names as they take. */
const COMMANDS: readonly (readonly string[])[] = [
  ['run', 'p.json'],
  ['check', 'p.json'],
  ['show', 'last'],
  ['export', 'last', '--format', 'jsonl'],
  ['verify', 'last'],
  ['compare', 'last', 'last'],
  ['correct', 'last', 'a', '--status', 'passed', '--reason', 'x'],
  ['regrade', 'last'],
  ['runs'],
  ['resume', 'last'],
  ['bless', 'last'],
  ['cancel', 'last'],
  ['tool', 'ls'],
  ['policy', 'check'],
  ['approvals'],
  ['approve', 'apr_x'],
  ['schema', 'profile'],
  ['doctor', '--verify'],
  ['import', 'promptfoo', 'p.json'],
  ['webhooks', 'ls'],
  ['init', 'new'],
];

const OPTIONS: readonly string[] = [
  '--limit',
  '--concurrency',
  '--workers',
  '--lease-ms',
  '--repeat',
  '--revision',
  '--alpha',
  '--max-regressions',
  '--score',
  '--evaluator',
  '--case',
  '--tag',
  '--run-key',
  '--failed-of',
  '--dataset',
  '--out',
  '--format',
  '--expect',
  '--key',
  '--sign',
  '--args',
  '--after',
  '--no-such-option',
  '--__proto__',
];

const VALUES: readonly string[] = [
  '',
  ' ',
  '-1',
  '0',
  '1e9',
  '1e400',
  'NaN',
  'Infinity',
  '0x10',
  '9007199254740993',
  '٣',
  '--json',
  '-',
  '../../../../etc/passwd',
  '/dev/null',
  '/proc/self/mem',
  'last~9999',
  "'; drop table run; --",
  '%s%n',
  '\u001b[2J',
  'ünï\u202ecode',
  '*',
  '{"a":',
  'constructor',
  'x'.repeat(100_000),
];

/** Command lines with wrong words, options and values, beside a profile that is right. */
export function commandInputs(seed: number, count: number): Input[] {
  const random = randomFor(seed, 'commands');
  const files = { 'p.json': profile({}), 'cases.jsonl': CASES };
  return Array.from({ length: count }, (_, index): Input => {
    const words = [...oneOf(random, COMMANDS)];
    const value = oneOf(random, VALUES);
    if (index % 4 === 0) words[random.below(words.length)] = value;
    else if (index % 4 === 1) words.splice(1 + random.below(words.length), 0, value);
    else words.push(oneOf(random, OPTIONS), ...(index % 4 === 2 ? [value] : []));
    return {
      kind: 'command lines',
      name: words.map((word) => JSON.stringify(word.slice(0, 60))).join(' '),
      files,
      argv: words,
    };
  });
}
