import { z } from 'zod';
import { type AgentKind, envelope } from '../../contract/agent.ts';
import { canonicalJson } from '../../lib/canonical-json.ts';

const config = z.strictObject({});

/** Agent kind `echo`: answers with its input as text (a string as it is, anything else as canonical JSON). */
export const echo: AgentKind<typeof config> = {
  kind: 'echo',
  config,
  code: () => [],
  open: async () => ({
    invoke: async (request) => {
      const input = request.case.input;
      return {
        type: 'envelope',
        envelope: envelope({ text: typeof input === 'string' ? input : canonicalJson(input) }),
      };
    },
    close: async () => undefined,
  }),
};
