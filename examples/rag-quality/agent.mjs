// Answers questions from documents: finds the one with the most words in common and quotes its best sentence. It has a weakness that
// the judge finds: when the documents do not say, it quotes something all the same.
const words = (text) => new Set(text.toLowerCase().match(/[\p{L}\d]{3,}/gu));
const common = (a, b) => [...a].filter((word) => b.has(word) || b.has(`${word}s`)).length;

export function answer({ case: item }) {
  const asked = words(item.input);
  const sentences = item.context.flatMap(({ id, text }) =>
    text.split(/(?<=\.)\s+/).map((sentence) => ({ id, sentence })),
  );
  const scored = sentences.map((entry) => ({ ...entry, score: common(asked, words(`${entry.id} ${entry.sentence}`)) }));
  const [best] = scored.toSorted((a, b) => b.score - a.score);
  return { text: best.sentence, metadata: { source: best.id }, usage: { input_tokens: 400, output_tokens: 30 } };
}
