/** The page's style: system fonts, both themes, one column that folds on a phone. */
export const STYLE = `
:root{color-scheme:light dark;--ink:#1a1d21;--dim:#5b636d;--line:#d9dde2;--ground:#fff;--raised:#f5f6f8;--pass:#0a7a3d;--fail:#b3261e;--warn:#8a5a00;--accent:#2f5fb3}
@media (prefers-color-scheme:dark){:root{--ink:#e6e8eb;--dim:#9aa3ad;--line:#343a42;--ground:#14171a;--raised:#1d2126;--pass:#4cc38a;--fail:#ff8a80;--warn:#f0b849;--accent:#86aef2}}
*{box-sizing:border-box}
body{margin:0;background:var(--ground);color:var(--ink);font:15px/1.5 system-ui,sans-serif}
main{max-width:70rem;margin:0 auto;padding:1.5rem 1rem 3rem}
h1{font-size:1.6rem;margin:.4rem 0}h2{font-size:1.1rem;margin:0 0 .6rem}h3{font-size:.95rem;margin:.8rem 0 .3rem}
section{margin:1.8rem 0}
.dim{color:var(--dim)}.count{color:var(--dim);font-weight:400}
.verdict{display:inline-block;margin:0;padding:.15rem .7rem;border-radius:.3rem;border:2px solid;font-weight:700;letter-spacing:.06em}
.pass,.passed{color:var(--pass)}.fail,.failed,.error{color:var(--fail)}.inconclusive,.skipped{color:var(--warn)}.unknown{color:var(--dim)}
.reason{font-size:1.05rem;margin:.3rem 0;overflow-wrap:anywhere}
.facts{display:grid;grid-template-columns:repeat(auto-fit,minmax(9.5rem,1fr));gap:.6rem}
.facts div{background:var(--raised);border:1px solid var(--line);border-radius:.4rem;padding:.6rem .8rem;display:flex;flex-direction:column}
.facts strong{font-size:1.3rem;font-variant-numeric:tabular-nums}.facts .dim{font-size:.85rem}
table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}
th,td{text-align:left;padding:.35rem .6rem .35rem 0;border-bottom:1px solid var(--line);vertical-align:top;overflow-wrap:anywhere}
th{font-weight:600}thead th{color:var(--dim);font-weight:400}.wide{width:50%}
figure{margin:0 0 1rem}figcaption{display:flex;justify-content:space-between;gap:1rem;color:var(--dim);font-size:.85rem}
svg{display:block;width:100%}
.histogram{height:9rem;border-bottom:1px solid var(--line)}.histogram rect{fill:var(--accent)}
.interval{height:2rem}.meter{height:.6rem;margin-top:.45rem}
.track{fill:var(--line)}.range{fill:var(--accent)}.point{stroke:var(--ink);stroke-width:.5}.wanted{stroke:var(--fail);stroke-width:.4;stroke-dasharray:1.2 .8}
details{border-bottom:1px solid var(--line);padding:.35rem 0}
summary{cursor:pointer;display:grid;grid-template-columns:minmax(8rem,16rem) 4rem 1fr;gap:.8rem}
summary:focus-visible,input:focus-visible,select:focus-visible,button:focus-visible{outline:2px solid var(--accent);outline-offset:2px}
summary::before{content:'';position:absolute;margin:.5em 0 0 -.9rem;border:.3em solid transparent;border-left-color:var(--dim)}details[open]>summary::before{transform:rotate(90deg);margin-left:-1.05rem}
.n,.scroll th{white-space:nowrap}.scroll{overflow-x:auto}.scroll:focus-visible{outline:2px solid var(--accent)}
summary .id,summary .name{font-weight:600;overflow-wrap:anywhere}summary .score{font-variant-numeric:tabular-nums}summary .why{overflow-wrap:anywhere}
pre{background:var(--raised);border:1px solid var(--line);border-radius:.3rem;padding:.5rem .7rem;margin:.3rem 0;white-space:pre-wrap;overflow-wrap:anywhere;font-size:.85rem;max-height:24rem;overflow:auto}
code{font-size:.9em;overflow-wrap:anywhere}
#list{list-style:none;margin:0;padding:0;columns:3 16rem;column-gap:1.5rem}#list li{display:flex;gap:.6rem;break-inside:avoid;border-bottom:1px solid var(--line);padding:.15rem 0}#list span:first-child{flex:1;overflow-wrap:anywhere}
label{margin-right:1rem}input,select,button{font:inherit;color:inherit;background:var(--raised);border:1px solid var(--line);border-radius:.3rem;padding:.25rem .5rem}
#list button{all:unset;cursor:pointer;color:var(--accent);overflow-wrap:anywhere}#list button:focus-visible{outline:2px solid var(--accent)}
.rest>summary{display:block}.rest details{margin-left:1rem}
footer{border-top:1px solid var(--line);color:var(--dim);font-size:.85rem}
@media (max-width:40rem){summary{grid-template-columns:1fr auto}summary .why{grid-column:1/-1;color:var(--dim)}thead{position:absolute;clip-path:inset(50%)}.wide{width:35%}}
@media print{details{break-inside:avoid}#all{display:none}}
`;

/** The page's script: the list of all executions, filtered as one types, some hundred rows at a time. */
export const SCRIPT = `
(() => {
  const rows = JSON.parse(document.getElementById('rows').textContent);
  const by = (id) => document.getElementById(id);
  const words = { p: ['passed', 'passed'], f: ['not passed', 'failed'], e: ['fault', 'error'], c: ['cancelled', 'skipped'] };
  const repeats = rows.some((row) => row[1] > 1);
  rows.forEach((row, at) => row.push(at));
  let found = rows;
  let shown = 0;
  const cell = (parent, text, style) => {
    const span = document.createElement('span');
    span.textContent = text;
    if (style) span.className = style;
    parent.append(span);
  };
  const link = (parent, name, at) => {
    cell(parent, '');
    const button = document.createElement('button');
    button.type = 'button';
    button.textContent = name;
    button.addEventListener('click', () => {
      for (let target = by('x' + at); target; target = target.parentElement.closest('details')) target.open = true;
      by('x' + at).scrollIntoView();
    });
    parent.firstChild.append(button);
  };
  const more = () => {
    const part = document.createDocumentFragment();
    for (const [id, repeat, mark, score, at] of found.slice(shown, shown + 300)) {
      const item = document.createElement('li');
      const name = repeats ? id + ' #' + repeat : id;
      if (by('x' + at)) link(item, name, at);
      else cell(item, name);
      cell(item, score === null ? '–' : score.toFixed(3));
      cell(item, words[mark][0], words[mark][1]);
      part.append(item);
    }
    by('list').append(part);
    shown = Math.min(found.length, shown + 300);
    by('more').hidden = shown === found.length;
    by('count').textContent = found.length === rows.length ? rows.length + ' executions' : found.length + ' of ' + rows.length;
  };
  const filter = () => {
    const text = by('find').value.toLowerCase();
    const mark = by('show').value;
    found = rows.filter((row) => (mark === '' || row[2] === mark) && row[0].toLowerCase().includes(text));
    shown = 0;
    by('list').replaceChildren();
    more();
  };
  by('find').addEventListener('input', filter);
  by('show').addEventListener('change', filter);
  by('more').addEventListener('click', more);
  by('all').hidden = false;
  filter();
})();
`;
