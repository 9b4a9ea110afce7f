import { type LookupAddress, lookup as systemLookup } from 'node:dns';
import type { LookupFunction } from 'node:net';
import ipaddr from 'ipaddr.js';

/**
 * Which addresses a client may connect to: every one, public ones only, or (`named`, the default) public ones and those
 * private ones that the author of the profile chose by writing such a host into the URL.
 */
export type PrivateAddresses = 'allow' | 'deny' | 'named';

/** Where an address leads: out, to this machine or its networks, or to a link-local one such as a cloud's metadata service. */
export type AddressReach = 'public' | 'private' | 'link_local';

/** The address policy of one client, made for the host that the author wrote. */
export interface AddressPolicy {
  /** Null when a connection for this host name may go to this address, else a sentence why not and what to do. */
  refusal(hostname: string, address: string): string | null;
  /** Null when the host name may be looked up, else the refusal of the address that it is. */
  refusalOfLiteral(hostname: string): string | null;
  /** `dns.lookup` that fails with code `ADDRESS_REFUSED` when any of the answers is refused (DNS rebinding). */
  readonly lookup: LookupFunction;
}

/** Marks the error of a refused look-up, as `code`. */
export const ADDRESS_REFUSED = 'ADDRESS_REFUSED';

/** Makes the policy for a client whose author wrote `authoredHost` (as `URL.hostname` gives it). */
export function addressPolicy(
  authoredHost: string,
  mode: PrivateAddresses,
  lookup: LookupFunction = systemLookup,
): AddressPolicy {
  const authored = bare(authoredHost);
  const chosen = mode === 'named' && namesPrivateHost(authored);
  const refusal = (hostname: string, address: string): string | null => {
    const reach = addressReach(address);
    if (reach === 'public' || mode === 'allow') return null;
    if (chosen && reach === 'private' && bare(hostname) === authored) return null;
    const which =
      bare(hostname) === bare(address) ? `\`${address}\`` : `\`${hostname}\` resolves to \`${address}\`, which`;
    const cure = mode === 'deny' ? '' : '; set `private_addresses: allow` if that is meant';
    return `${which} is a ${reach === 'private' ? 'private' : 'link-local or metadata'} address and is refused${cure}`;
  };
  return {
    refusal,
    refusalOfLiteral: (hostname) => (ipaddr.isValid(bare(hostname)) ? refusal(bare(hostname), bare(hostname)) : null),
    lookup: (hostname, options, callback) => {
      lookup(hostname, { ...options, all: true }, (error, found) => {
        if (error) return callback(error, '', 0);
        const addresses: LookupAddress[] =
          typeof found === 'string'
            ? [{ address: found, family: ipaddr.parse(found).kind() === 'ipv6' ? 6 : 4 }]
            : found;
        for (const { address } of addresses) {
          const why = refusal(hostname, address);
          if (why !== null) return callback(Object.assign(new Error(why), { code: ADDRESS_REFUSED }), '', 0);
        }
        const first = addresses[0];
        if (first === undefined)
          return callback(Object.assign(new Error(`\`${hostname}\` has no address`), { code: 'ENOTFOUND' }), '', 0);
        if (options.all) callback(null, addresses);
        else callback(null, first.address, first.family);
      });
    },
  };
}

/** Where an IP address leads; an IPv4 address carried in an IPv6 one (mapped, NAT64) is judged as itself. */
export function addressReach(address: string): AddressReach {
  const parsed = ipaddr.process(bare(address).replace(/%.*$/, ''));
  const range = parsed.range();
  if (parsed instanceof ipaddr.IPv6 && range === 'rfc6052')
    return addressReach(
      parsed.parts
        .slice(-2)
        .flatMap((part) => [part >> 8, part & 255])
        .join('.'),
    );
  if (METADATA.has(parsed.toString())) return 'link_local';
  if (range === 'unicast') return 'public';
  return range === 'linkLocal' ? 'link_local' : 'private';
}

/** True for a host name that can only mean this machine or a private network: an author who writes it means it. */
export function namesPrivateHost(hostname: string): boolean {
  const name = bare(hostname);
  if (ipaddr.isValid(name)) return addressReach(name) === 'private';
  return !name.includes('.') || /\.(localhost|local|internal|home\.arpa|lan)$/.test(name);
}

/** True for a host name or address that can only mean this machine. */
export function namesLoopback(hostname: string): boolean {
  const name = bare(hostname);
  if (ipaddr.isValid(name)) return ipaddr.process(name).range() === 'loopback';
  return name === 'localhost' || name.endsWith('.localhost');
}

/** Instance metadata services that stand outside the link-local ranges: AWS over IPv6, Alibaba. */
const METADATA: ReadonlySet<string> = new Set(['fd00:ec2::254', '100.100.100.200']);

function bare(hostname: string): string {
  return hostname
    .replace(/^\[|\]$/g, '')
    .replace(/\.$/, '')
    .toLowerCase();
}
