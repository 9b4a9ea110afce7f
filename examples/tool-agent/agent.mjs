// An agent with tools, small enough to read. It tells of its calls (`tool_calls`), and it is flaky on purpose: one try in four at a booking it
// forgets to search first, which pass^3 brings to light and a single run hides.
const tools = {
  'weather.now': ({ city }) => ({ city, celsius: 12 }),
  'convert.temperature': ({ celsius }) => ({ fahrenheit: celsius * 1.8 + 32 }),
  'restaurant.search': ({ city }) => ({ name: 'Da Enzo', city }),
  'restaurant.book': ({ people }) => ({ booked: true, people }),
};

let tries = 0;

export function answer({ case: item }) {
  const tool_calls = [];
  const call = (name, args) => {
    const result = tools[name](args);
    tool_calls.push({ name, arguments: args, result });
    return result;
  };
  const city = /\bin ([A-Z]\w+)/.exec(item.input)?.[1];
  let text = 'Why did the agent cross the road? It was not allowed to ask a tool.';
  if (/warm|weather/.test(item.input)) {
    const { celsius } = call('weather.now', { city });
    text = `${celsius} °C`;
    if (/Fahrenheit/.test(item.input))
      text = `${call('convert.temperature', { celsius, to: 'fahrenheit' }).fahrenheit} °F`;
  } else if (/Book|restaurant/.test(item.input)) {
    tries += 1;
    if (!(/^Book/.test(item.input) && tries % 4 === 0)) text = call('restaurant.search', { city }).name;
    if (/^Book/.test(item.input)) call('restaurant.book', { people: 2 });
  }
  return { text, tool_calls };
}
