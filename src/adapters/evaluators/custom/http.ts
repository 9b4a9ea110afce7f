import { type Finding, finding } from '../../../contract/evaluator.ts';
import { diagnostic, ProctorError } from '../../../contract/problem.ts';
import { parseStrictJson } from '../../../lib/strict-json.ts';
import { namesLoopback } from '../../transport/address-policy.ts';
import { excerpt } from '../../transport/excerpt.ts';
import { type HttpOutcome, openHttpClient } from '../../transport/http-client.ts';
import { statusFault } from '../../transport/http-faults.ts';
import { type CustomEvaluator, evaluatorDocument, parseFinding } from './custom-evaluator.ts';

const MAX_FINDING_BYTES = 1024 * 1024;

/** The evaluator `https://…` (`http://` on loopback only): gets the document by POST and answers a finding; `config.headers` may hold secrets. */
export function httpEvaluator(ref: string): CustomEvaluator {
  const url = checkedUrl(ref);
  return {
    code: [],
    async open({ config, timeout_ms, resolve, redact, concurrency }) {
      const { headers: written = {}, ...rest } = config;
      const headers = checkedHeaders(written, ref);
      for (const template of Object.values(headers)) resolve(template); // a missing secret is found before the run starts
      const client = openHttpClient({ authored_host: url.hostname, connections: concurrency });
      return {
        external: true,
        async evaluate(input, { signal }) {
          const outcome = await client.request({
            url,
            method: 'POST',
            headers: {
              'content-type': 'application/json',
              accept: 'application/json',
              ...Object.fromEntries(
                Object.entries(headers).map(([name, template]) => [name.toLowerCase(), resolve(template)]),
              ),
            },
            body: JSON.stringify(evaluatorDocument(input, rest)),
            timeout_ms,
            max_body_bytes: MAX_FINDING_BYTES,
            signal,
          });
          return judged(outcome, ref, redact);
        },
        close: () => client.close(),
      };
    },
  };
}

function judged(outcome: HttpOutcome, ref: string, redact: (text: string) => string): Finding {
  if (outcome.type === 'error')
    throw new Error(`\`${ref}\` gave no finding (${outcome.code}): ${redact(outcome.message)}`);
  const body = outcome.body.toString('utf8');
  if (outcome.status < 200 || outcome.status > 299) {
    const { fault, suspect = false } = statusFault(outcome.status, body, outcome.headers);
    const reason = `\`${ref}\` answered with status ${outcome.status}: ${excerpt(redact(body), 512)}`;
    return finding('error', reason, fault === 'configuration' || suspect ? { fault: 'configuration' } : {});
  }
  const parsed = parseStrictJson(body, { ignore_numbers_at: () => true });
  if (parsed.type === 'invalid')
    throw new Error(`\`${ref}\` answered something that is not JSON: ${excerpt(redact(body), 512)}`);
  const [issue] = parsed.issues;
  if (issue !== undefined) throw new Error(`\`${ref}\` answered JSON that cannot be trusted: ${issue.message}`);
  return parseFinding(parsed.value, ref);
}

function checkedUrl(ref: string): URL {
  const invalid = (message: string, hint: string) =>
    new ProctorError('invalid_profile', `the evaluator \`${ref}\` ${message}; ${hint}`, {
      diagnostics: [diagnostic(message, { hint })],
    });
  if (!URL.canParse(ref)) throw invalid('is not a URL', 'write it whole, as in `https://grader.example/grade`');
  const url = new URL(ref);
  if (url.username !== '' || url.password !== '')
    throw invalid('holds credentials', 'put them into `config.headers` as a `secret:` reference');
  if (url.protocol !== 'https:' && !namesLoopback(url.hostname))
    throw invalid('would send cases unencrypted', 'use https; http is for this machine only');
  return url;
}

function checkedHeaders(headers: unknown, ref: string): Record<string, string> {
  if (typeof headers === 'object' && headers !== null && !Array.isArray(headers)) {
    const entries = Object.entries(headers).filter((entry): entry is [string, string] => typeof entry[1] === 'string');
    if (entries.length === Object.keys(headers).length) return Object.fromEntries(entries);
  }
  throw new ProctorError(
    'invalid_profile',
    `\`config.headers\` of the evaluator \`${ref}\` must map header names to texts`,
  );
}
