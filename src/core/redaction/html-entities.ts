/** Names of HTML for the characters U+00A0 to U+00FF, in their order. */
const LATIN_1 =
  'nbsp iexcl cent pound curren yen brvbar sect uml copy ordf laquo not shy reg macr deg plusmn sup2 sup3 acute micro para middot ' +
  'cedil sup1 ordm raquo frac14 frac12 frac34 iquest Agrave Aacute Acirc Atilde Auml Aring AElig Ccedil Egrave Eacute Ecirc Euml ' +
  'Igrave Iacute Icirc Iuml ETH Ntilde Ograve Oacute Ocirc Otilde Ouml times Oslash Ugrave Uacute Ucirc Uuml Yacute THORN szlig ' +
  'agrave aacute acirc atilde auml aring aelig ccedil egrave eacute ecirc euml igrave iacute icirc iuml eth ntilde ograve oacute ' +
  'ocirc otilde ouml divide oslash ugrave uacute ucirc uuml yacute thorn yuml';

/** Names for what stands on a keyboard, and for letters and signs beyond Latin 1 that have had one since HTML 4. */
const OTHERS =
  'Tab=\t NewLine=\n excl=! quot=" QUOT=" num=# dollar=$ percnt=% amp=& AMP=& apos=\' lpar=( rpar=) ast=* midast=* plus=+ comma=, ' +
  'period=. sol=/ colon=: semi=; lt=< LT=< equals== gt=> GT=> quest=? commat=@ lsqb=[ lbrack=[ bsol=\\ rsqb=] rbrack=] Hat=^ ' +
  'lowbar=_ UnderBar=_ grave=` lcub={ lbrace={ verbar=| vert=| VerticalLine=| rcub=} rbrace=} hyphen=‐ dash=‐ euro=€ OElig=Œ ' +
  'oelig=œ Scaron=Š scaron=š Yuml=Ÿ fnof=ƒ circ=ˆ tilde=˜ ndash=– mdash=— lsquo=‘ rsquo=’ sbquo=‚ ldquo=“ rdquo=” bdquo=„ ' +
  'dagger=† Dagger=‡ bull=• hellip=… permil=‰ lsaquo=‹ rsaquo=› trade=™';

const ENTITIES: ReadonlyMap<string, string> = new Map([
  ...LATIN_1.split(' ').map((name, index): [string, string] => [name, String.fromCharCode(0xa0 + index)]),
  ...OTHERS.split(' ').map((entry): [string, string] => {
    const at = entry.indexOf('=');
    return [entry.slice(0, at), entry.slice(at + 1)];
  }),
]);

/** The character that a named entity of HTML stands for; undefined for a name that is not known. */
export function entity(name: string): string | undefined {
  return ENTITIES.get(name);
}
