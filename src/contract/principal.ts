import { z } from 'zod';

/** Who acts: a person, an agent, or a service. */
export const PRINCIPAL_KINDS = ['human', 'agent', 'service'] as const;
/** A kind of principal. */
export type PrincipalKind = (typeof PRINCIPAL_KINDS)[number];

/** A principal: an id that stays, its kind, and the roles that policies and approvers name. */
export interface Principal {
  readonly id: string;
  readonly kind: PrincipalKind;
  readonly roles: readonly string[];
}

/** A principal's id: its kind and a name, `human:ada`. */
export const principalIdSchema = z
  .string()
  .regex(/^(human|agent|service):[A-Za-z0-9_.@-]{1,120}$/, 'must be human:NAME, agent:NAME or service:NAME');

/** The kind that a principal's id begins with; everything unknown is an agent, which may the least. */
export function kindOfPrincipal(id: string): PrincipalKind {
  const kind = id.slice(0, Math.max(0, id.indexOf(':')));
  return kind === 'human' || kind === 'service' ? kind : 'agent';
}
