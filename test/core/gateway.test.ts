import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import {
  argumentsDigest,
  type CanonicalCall,
  callDigest,
  gatewayEventHash,
  toolErrorDigest,
  toolOutputDigest,
  whyNotApprover,
} from '../../src/core/gateway.ts';

const sha = (domain: string, text: string) => createHash('sha256').update(`${domain}\n${text}`).digest('hex');

test('arguments, errors and outputs are hashed in domains of their own', () => {
  expect(argumentsDigest('{}')).toBe(sha('proctor/tool_arguments/1', '{}'));
  expect(toolErrorDigest('{}')).toBe(sha('proctor/tool_error/1', '{}'));
  expect(toolOutputDigest('{}')).toBe(sha('proctor/tool_output/1', '{}'));
});

test('a call is hashed over every member, and nothing else that a row holds', () => {
  const call: CanonicalCall = {
    source: 'fs',
    name: 'write',
    definition_digest: 'd',
    arguments_digest: 'a',
    principal: 'agent:x',
    agent: 'x',
    run_id: 'run_1',
    ordinal: 2,
    attempt: 3,
  };
  const text =
    '{"agent":"x","arguments_digest":"a","attempt":3,"definition_digest":"d","name":"write","ordinal":2,"principal":"agent:x","run_id":"run_1","source":"fs"}';
  expect(callDigest(call)).toBe(sha('proctor/tool_call/1', text));
  expect(callDigest({ ...call, comment: 'more' } as CanonicalCall)).toBe(callDigest(call));
});

test('an event of the gateway is hashed over the one before it and every column', () => {
  const row = { run_id: null, seq: 4, type: 'tool_called', at: 5, tool_run_id: 'trn_1', body: '{}' };
  expect(gatewayEventHash('before', row)).toBe(
    sha('proctor/gateway_event/1', '["before",null,4,"tool_called",5,"trn_1","{}"]'),
  );
});

describe('who may answer an approval', () => {
  const approval = { approvers: [['human:ada', 'role:lead']], self_approval: false, requested_by: 'human:eve' };
  const who = (id: string, ...roles: readonly string[]) => ({ id, kind: 'human', roles });

  test('one who is named, or has a role that is', () => {
    expect(whyNotApprover(approval, who('human:ada'))).toBeNull();
    expect(whyNotApprover(approval, who('human:bob', 'dev', 'lead'))).toBeNull();
    expect(whyNotApprover({ ...approval, approvers: [] }, who('human:bob'))).toBeNull();
  });

  test('of every list there is', () => {
    const both = { ...approval, approvers: [['human:ada'], ['human:bob', 'role:owner']] };
    expect(whyNotApprover(both, who('human:ada'))).toBe(
      '`human:ada` is not among the approvers: human:bob, role:owner',
    );
    expect(whyNotApprover(both, who('human:ada', 'owner'))).toBeNull();
    expect(whyNotApprover(both, who('human:eva', 'dev'))).toBe(
      '`human:eva` (dev) is not among the approvers: human:ada',
    );
  });

  test('nobody else: neither a name that looks like a role nor a role that looks like a name', () => {
    expect(whyNotApprover(approval, who('role:lead'))).toBe(
      '`role:lead` is not among the approvers: human:ada, role:lead',
    );
    expect(whyNotApprover(approval, who('human:bob', 'human:ada', 'x'))).toBe(
      '`human:bob` (human:ada, x) is not among the approvers: human:ada, role:lead',
    );
  });

  test('no agent, whatever it is named', () => {
    expect(whyNotApprover(approval, { id: 'human:ada', kind: 'agent', roles: ['lead'] })).toBe(
      '`human:ada` is an agent; only people and services may answer',
    );
    expect(whyNotApprover(approval, { id: 'human:ada', kind: 'service', roles: [] })).toBeNull();
  });

  test('not the one who asked, unless policy lets them', () => {
    const own = { ...approval, requested_by: 'human:ada' };
    expect(whyNotApprover(own, who('human:ada'))).toBe(
      '`human:ada` asked for this call, and policy does not let one answer for oneself (`self_approval`)',
    );
    expect(whyNotApprover({ ...own, self_approval: true }, who('human:ada'))).toBeNull();
  });
});
