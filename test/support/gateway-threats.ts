/** The list of threats that the gateway is held against, by number. */
export const THREATS: readonly string[] = [
  'arguments change between approval and run',
  'arguments change in place',
  'an approval is used twice',
  'an approval is given after it expired',
  'policy is tightened after the approval',
  'an approval is used for another agent, run or caller',
  'an agent approves itself',
  'what the client carries is forged',
  'a definition changes after it was approved',
  'a tool takes the name of another',
  'annotations lie',
  'output of a tool steers the next call',
  'a path leads elsewhere',
  'a URL leads elsewhere',
  'a matcher that takes for ever',
  'a schema that explodes',
  'output without end',
  'output and arguments that deceive a terminal',
  'a preview that hides something',
  'a secret leaves',
  'a budget is raced',
  'tokens are passed on',
  'a web page asks the local gateway',
  'records are altered or lost',
  'the evaluator fails',
  'people are flooded with questions',
];

/** What of the list needs a container that tools run in, and is tested with it. */
export const LEFT_FOR_THE_SANDBOX: readonly { readonly threat: number; readonly part: string }[] = [
  { threat: 13, part: 'a link is swapped between the dispatch and the tool opening the path' },
  {
    threat: 14,
    part: 'a tool of the project itself resolves a name to a private address, or follows a redirect to one',
  },
  { threat: 17, part: 'a program fills the disk or the memory of the machine instead of its output' },
  { threat: 20, part: 'a tool that was handed a secret sends it over the network or in a form of its own making' },
];

/** The name of a test about a threat: its number, its title, and what is tried. */
export function threat(number: number, what: string): string {
  const title = THREATS[number - 1];
  if (title === undefined) throw new Error(`there is no threat ${number}`);
  return `#${number} ${title}: ${what}`;
}
