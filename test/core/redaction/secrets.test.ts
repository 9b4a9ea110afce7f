import { describe, expect, test } from 'vitest';
import { ProctorError } from '../../../src/contract/problem.ts';
import { Secrets } from '../../../src/core/redaction/secrets.ts';

const VALUES: Readonly<Record<string, string>> = {
  TOKEN: 'tok-1234567',
  SAME_TOKEN: 'tok-1234567',
  OTHER: 'another-value',
  SHORT: 'a1b2c',
  FLAT: 'ababababab',
  STAGE: 'production',
  API_KEY: 'key-from-environment',
  DUMMY_KEY: 'x',
};

function secrets(): Secrets {
  return new Secrets((_, name) => {
    const value = VALUES[name];
    if (value === undefined) throw new ProctorError('secret_missing', `${name} is not set`);
    return value;
  });
}
const secret = (name: string) => `\${secret:${name}}`;

describe('secrets', () => {
  test('are known once they were resolved, and not before', () => {
    const own = secrets();
    const value = { a: VALUES['TOKEN'] };
    expect(own.json(value)).toBe(value);
    expect(own.resolve(`Bearer ${secret('TOKEN')} ${secret('OTHER')}`)).toBe('Bearer tok-1234567 another-value');
    expect(own.json(value)).toEqual({ a: '[secret TOKEN]' });
    expect(own.text('TOK-1234567, another-value')).toBe('[secret TOKEN], [secret OTHER]');
  });

  test('that have the same value have the name of the first, in texts and in values', () => {
    const own = secrets();
    own.resolve(secret('TOKEN'));
    own.resolve(secret('SAME_TOKEN'));
    expect(own.text('tok-1234567')).toBe('[secret TOKEN]');
    expect(own.json(['tok-1234567'])).toEqual(['[secret TOKEN]']);
  });

  test('that a document refers to are learned as far as they are set', () => {
    const own = secrets();
    own.learn({ header: [`x ${secret('TOKEN')}`, secret('NOT_SET'), { [secret('OTHER')]: 1 }] });
    expect(own.text('tok-1234567 another-value')).toBe('[secret TOKEN] [secret OTHER]');
    expect(() => own.resolve(secret('NOT_SET'))).toThrow('NOT_SET is not set');
  });

  test('hide an error of the lookup that is not theirs nowhere', () => {
    const broken = new Secrets(() => {
      throw new TypeError('broken');
    });
    expect(() => broken.learn(secret('TOKEN'))).toThrow('broken');
  });

  test.each(['SHORT', 'FLAT'])(
    'that are too weak to be told from ordinary text are named once, and stay: %s',
    (name) => {
      const own = secrets();
      const warnings: string[] = [];
      own.resolve(secret(name));
      own.warned((text) => warnings.push(text));
      own.resolve(secret(name));
      expect(warnings).toEqual([
        `the secret \`${name}\` cannot be told from ordinary text, so it is not redacted: it needs at least 6 characters, 3 of them different`,
      ]);
      expect(own.text(`a ${VALUES[name]}`)).toBe(`a ${VALUES[name]}`);
      own.resolve(secret(name === 'SHORT' ? 'FLAT' : 'SHORT'));
      expect(warnings).toHaveLength(2);
    },
  );

  test('of the environment are those whose name says so', () => {
    const own = secrets();
    expect(own.resolve('$' + '{env:DUMMY_KEY}')).toBe('x');
    expect(own.resolve('$' + '{env:STAGE} $' + '{env:API_KEY} $' + '{env:SHORT}')).toBe(
      'production key-from-environment a1b2c',
    );
    own.warned((text) => expect.unreachable(text));
    expect(own.text('production key-from-environment')).toBe('production [env API_KEY]');
  });

  test('can have one more for a while', () => {
    const own = secrets();
    own.resolve(secret('TOKEN'));
    expect(own.with('for-a-while', '[gone]').text('for-a-while tok-1234567')).toBe('[gone] [secret TOKEN]');
    expect(own.text('for-a-while')).toBe('for-a-while');
  });
});
