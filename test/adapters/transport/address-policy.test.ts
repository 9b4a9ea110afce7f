import { describe, expect, it } from 'vitest';
import {
  addressPolicy,
  addressReach,
  namesLoopback,
  namesPrivateHost,
} from '../../../src/adapters/transport/address-policy.ts';

describe('where an address leads', () => {
  it.each([
    ['93.184.216.34', 'public'],
    ['2606:2800:220:1::1', 'public'],
    ['127.0.0.1', 'private'],
    ['127.8.8.8', 'private'],
    ['0.0.0.0', 'private'],
    ['10.1.2.3', 'private'],
    ['172.31.0.1', 'private'],
    ['192.168.1.1', 'private'],
    ['100.64.0.1', 'private'],
    ['::1', 'private'],
    ['[::1]', 'private'],
    ['fd12::1', 'private'],
    ['::ffff:10.0.0.1', 'private'],
    ['::ffff:93.184.216.34', 'public'],
    ['64:ff9b::a00:1', 'private'],
    ['64:ff9b::5db8:d822', 'public'],
    ['2002:7f00:1::', 'private'],
    ['169.254.169.254', 'link_local'],
    ['::ffff:169.254.169.254', 'link_local'],
    ['fe80::1%eth0', 'link_local'],
    ['fd00:ec2::254', 'link_local'],
    ['100.100.100.200', 'link_local'],
  ])('is known for `%s`: %s', (address, reach) => {
    expect(addressReach(address)).toBe(reach);
  });
});

it('a host name is private when it can only mean this machine or a private network', () => {
  const names = [
    'localhost',
    'agent.localhost',
    'triage',
    'printer.local',
    'api.internal',
    '10.0.0.1',
    '[::1]',
    'agent.example',
    'localhost.example',
    '8.8.8.8',
    '169.254.169.254',
  ];
  expect(names.filter(namesPrivateHost)).toEqual([
    'localhost',
    'agent.localhost',
    'triage',
    'printer.local',
    'api.internal',
    '10.0.0.1',
    '[::1]',
  ]);
  expect(names.filter(namesLoopback)).toEqual(['localhost', 'agent.localhost', '[::1]']);
});

it('a metadata address is refused even when the author named a private host', () => {
  const policy = addressPolicy('metadata.internal', 'named');
  expect(policy.refusal('metadata.internal', '10.0.0.1')).toBe(null);
  expect(policy.refusal('metadata.internal', '169.254.169.254')).toBe(
    '`metadata.internal` resolves to `169.254.169.254`, which is a link-local or metadata address and is refused; set `private_addresses: allow` if that is meant',
  );
  expect(policy.refusal('other.internal', '10.0.0.1')).not.toBe(null);
});
