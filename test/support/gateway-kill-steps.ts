/** The moments of an approval's life at which a process is killed. */
export interface Fault {
  /** A verb of the store, or the tool's side effect. */
  readonly at:
    | 'beginToolRun'
    | 'answerApproval'
    | 'consumeApproval'
    | 'side_effect'
    | 'finishToolRun'
    | 'deliverToolRun';
  /** `during`: inside the transaction, before its commit. */
  readonly when: 'before' | 'during' | 'after';
}

/** One step: who dies where, and what the call may have come to. */
export interface Step {
  readonly name: string;
  /** The caller that waits; who approves; or who approves and carries the call out for a caller that is gone. */
  readonly victim: 'caller' | 'approver' | 'carrier';
  /** Null: at a moment that chance chooses. */
  readonly fault: Fault | null;
  readonly ends: 'ok' | 'unknown' | 'either';
  /** How often the side effect happened. */
  readonly effects: readonly number[];
  /** The outcome was handed over before the kill: the same call afterwards is a new one, which waits for its own answer. */
  readonly asked_again: boolean;
}

const step = (
  name: string,
  victim: Step['victim'],
  fault: Fault,
  ends: Step['ends'],
  effects: number,
  asked_again = false,
): Step => ({ name, victim, fault, ends, effects: [effects], asked_again });

/** What follows the grant is the same for a caller that waits and for who carries the call out in its place. */
const afterTheGrant = (victim: 'caller' | 'carrier'): Step[] => [
  step(`${victim}: before consume + dispatch`, victim, { at: 'consumeApproval', when: 'before' }, 'ok', 1),
  step(`${victim}: inside consume + dispatch`, victim, { at: 'consumeApproval', when: 'during' }, 'ok', 1),
  step(`${victim}: after consume + dispatch`, victim, { at: 'consumeApproval', when: 'after' }, 'unknown', 0),
  step(`${victim}: before the side effect`, victim, { at: 'side_effect', when: 'before' }, 'unknown', 0),
  step(`${victim}: after the side effect`, victim, { at: 'side_effect', when: 'after' }, 'unknown', 1),
  step(`${victim}: before finish`, victim, { at: 'finishToolRun', when: 'before' }, 'unknown', 1),
  step(`${victim}: after finish`, victim, { at: 'finishToolRun', when: 'after' }, 'ok', 1),
];

/** Every step, in the order of an approval's life. */
export const STEPS: readonly Step[] = [
  step('caller: before request', 'caller', { at: 'beginToolRun', when: 'before' }, 'ok', 1),
  step('caller: inside request', 'caller', { at: 'beginToolRun', when: 'during' }, 'ok', 1),
  step('caller: after request', 'caller', { at: 'beginToolRun', when: 'after' }, 'ok', 1),
  step('approver: before grant', 'approver', { at: 'answerApproval', when: 'before' }, 'ok', 1),
  step('approver: after grant', 'approver', { at: 'answerApproval', when: 'after' }, 'ok', 1),
  ...afterTheGrant('caller'),
  step('caller: before deliver', 'caller', { at: 'deliverToolRun', when: 'before' }, 'ok', 1),
  step('caller: after deliver', 'caller', { at: 'deliverToolRun', when: 'after' }, 'ok', 1, true),
  ...afterTheGrant('carrier'),
  { name: 'caller: at any moment', victim: 'caller', fault: null, ends: 'either', effects: [0, 1], asked_again: true },
];
