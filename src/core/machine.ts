/** A transition table: every state with the states that may follow it. */
export interface Machine<State extends string = string> {
  readonly name: string;
  readonly initial: State;
  readonly next: Readonly<Record<State, readonly State[]>>;
}

/** Declares a machine; every state that may follow must itself be a state. */
export function defineMachine<const Next extends Readonly<Record<string, readonly string[]>>>(machine: {
  readonly name: string;
  readonly initial: keyof Next & string;
  readonly next: Next;
}): Machine<keyof Next & string> {
  for (const [from, states] of Object.entries(machine.next)) {
    for (const to of states)
      if (!Object.hasOwn(machine.next, to))
        throw new TypeError(`\`${machine.name}\`: \`${from}\` leads to unknown \`${to}\``);
  }
  return machine as unknown as Machine<keyof Next & string>;
}

/** The machine as a Mermaid state diagram. */
export function toMermaid(machine: Machine): string {
  const lines = ['stateDiagram-v2', `  [*] --> ${machine.initial}`];
  for (const [from, states] of Object.entries(machine.next)) {
    for (const to of states) lines.push(`  ${from} --> ${to}`);
    if (states.length === 0) lines.push(`  ${from} --> [*]`);
  }
  return lines.join('\n');
}
