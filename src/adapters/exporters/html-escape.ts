/**
 * Text without what would hide or reorder it (control characters but tab and line ends, bidirectional controls, characters of no width but
 * joiners, which scripts and emoji need): each is shown as U+FFFD. XML has no form for some of them.
 */
export function unhidden(text: string): string {
  return text.toWellFormed().replace(HIDING, '\ufffd');
}

const HIDING = /(?![\t\n\r])\p{Cc}|[\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufffe\uffff]/gu;

/** Text for HTML, in elements and quoted attributes; what would hide or reorder it is shown as U+FFFD. */
export function escapeHtml(text: string): string {
  return unhidden(text)
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;');
}
