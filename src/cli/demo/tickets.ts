/** The labels that the demo's agent may give. */
export const LABELS = ['billing', 'shipping', 'account', 'bug', 'feature_request'] as const;
export type Label = (typeof LABELS)[number];

interface Template {
  readonly label: Label;
  readonly subject: string;
  readonly body: string;
  /** True when a good agent looks the order up before it answers. */
  readonly order: boolean;
}

const PRODUCTS = [
  'standing desk',
  'noise-cancelling headset',
  'annual plan',
  'travel mug',
  'team workspace',
  'e-bike battery',
  'gift card',
  'desk lamp',
];
const PEOPLE = ['Ada', 'Linus', 'Grace', 'Ken', 'Barbara', 'Edsger', 'Margaret', 'Dennis', 'Radia', 'Tony'];

/** Some are plain, some are meant to mislead a reader of keywords: that is where the demo's agent errs. */
const TEMPLATES: readonly Template[] = [
  {
    label: 'billing',
    subject: 'Charged twice',
    body: 'I was charged twice for the {product}, order {order}. Please refund one payment.',
    order: true,
  },
  {
    label: 'billing',
    subject: 'Invoice address',
    body: 'The invoice for order {order} shows our old company name.',
    order: true,
  },
  {
    label: 'billing',
    subject: 'Card declined',
    body: 'My card was declined while paying for the {product} but the bank says all is fine.',
    order: false,
  },
  {
    label: 'shipping',
    subject: 'Where is my {product}?',
    body: 'Order {order} was to arrive on Monday and tracking has not moved since.',
    order: true,
  },
  {
    label: 'shipping',
    subject: 'Wrong address',
    body: 'The parcel of order {order} is on its way to my old flat. Can the delivery be changed?',
    order: true,
  },
  {
    label: 'shipping',
    subject: 'Damaged parcel',
    body: 'The box of the {product} arrived open, order {order}.',
    order: true,
  },
  {
    label: 'account',
    subject: 'Cannot sign in',
    body: 'The reset mail for my login never arrives. {person}',
    order: false,
  },
  {
    label: 'account',
    subject: 'Change of e-mail',
    body: 'Please move my account to a new e-mail address. Thanks, {person}',
    order: false,
  },
  {
    label: 'account',
    subject: 'Delete my data',
    body: 'Please close my account and delete all my data.',
    order: false,
  },
  {
    label: 'bug',
    subject: 'Export crashes',
    body: 'The export crashes with an error as soon as a name holds an umlaut.',
    order: false,
  },
  {
    label: 'bug',
    subject: 'Search shows nothing',
    body: 'Since the update the search page stays empty and the console shows an error.',
    order: false,
  },
  {
    label: 'feature_request',
    subject: 'Dark mode',
    body: 'It would be great to have a dark theme, my eyes would thank you. {person}',
    order: false,
  },
  {
    label: 'feature_request',
    subject: 'Calendar sync',
    body: 'Could you add a sync with our calendar? It would save us an hour a week.',
    order: false,
  },
  {
    label: 'feature_request',
    subject: 'Refund button',
    body: 'Could you add a button so that our support can refund a payment by itself?',
    order: false,
  },
];

/** The demo's dataset as case records: `count` tickets, the same ones every time. */
export function ticketCases(count: number): Record<string, unknown>[] {
  return Array.from({ length: count }, (_, index) => {
    const template = TEMPLATES[index % TEMPLATES.length] ?? TEMPLATES[0]!;
    const order = `PR-${String(10_000 + ((index * 7919) % 89_999))}`;
    const fill = (text: string) =>
      text
        .replace('{product}', PRODUCTS[(index * 5) % PRODUCTS.length] ?? '')
        .replace('{person}', PEOPLE[(index * 3) % PEOPLE.length] ?? '')
        .replace('{order}', order);
    return {
      id: `ticket-${String(index + 1).padStart(3, '0')}`,
      task_type: 'triage',
      input: { subject: fill(template.subject), body: fill(template.body) },
      expected: { label: template.label, ...(template.order ? { order } : {}) },
      tags: [template.label, ...(template.order ? ['has_order'] : [])],
    };
  });
}
