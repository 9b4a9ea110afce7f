import { type Profile, profileSchema } from '../../src/contract/profile.ts';

/** The frozen form of a profile with the given members; by default an echo agent and one group with one evaluator. */
export const profileOf = (members: object = {}): Profile =>
  profileSchema.parse({
    profile_id: 'unit',
    agent: { kind: 'echo', name: 'echo', version: '1' },
    case_groups: [groupOf('all')],
    ...members,
  });

/** A case group as a profile writes it, with one evaluator unless the members say otherwise. */
export const groupOf = (id: string, members: object = {}) => ({
  id,
  evaluators: [{ ref: 'exact_match@1' }],
  ...members,
});
