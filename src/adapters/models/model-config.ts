import { z } from 'zod';
import { REFERENCE_ONLY } from '../../contract/secret-reference.ts';

/** One model endpoint, as a profile writes it. */
export const modelSchema = z.strictObject({
  provider: z.enum(['openai_compatible', 'anthropic']).describe('The wire format of the endpoint'),
  base_url: z
    .string()
    .min(1)
    .describe('Up to and with `/v1`; https, or http on this machine; may be a reference to the environment'),
  model: z.string().min(1).describe('The model’s id at the endpoint, as exact as it offers one'),
  api_key: z
    .string()
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is shown as one writes it
    .regex(REFERENCE_ONLY, { error: 'must be a reference such as ${secret:JUDGE_KEY}' })
    .nullable()
    .default(null)
    .describe('By reference; none for endpoints without one'),
  max_output_tokens: z.number().int().positive().max(100_000).default(2_000).describe('Most tokens of one answer'),
  price: z
    .strictObject({
      input_per_mtok_usd: z.number().nonnegative().describe('USD per million input tokens'),
      output_per_mtok_usd: z.number().nonnegative().describe('USD per million output tokens'),
    })
    .nullable()
    .default(null)
    .describe('So that its cost counts to the run’s budget'),
});
/** One model endpoint. */
export type ModelConfig = z.output<typeof modelSchema>;
