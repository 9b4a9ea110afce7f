import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import ICAL from 'ical.js';

interface Entry {
  readonly start: string;
  readonly end: string;
  readonly all_day: boolean;
  readonly summary: string;
  readonly location: string | null;
  readonly calendar: string;
}

const MOST_OCCURRENCES = 20_000; // of one event until the day that is asked for

/** Read-only tools over a folder of iCalendar files (RFC 5545). */
export const tools = {
  get_agenda: {
    description: 'What is in the calendars on a day, or on several days from it on, in the order of time.',
    input_schema: {
      type: 'object',
      properties: {
        day: { type: 'string', pattern: '^[0-9]{4}-[0-9]{2}-[0-9]{2}$', description: 'the first day, YYYY-MM-DD' },
        days: { type: 'integer', minimum: 1, maximum: 31, description: 'how many days; 1 unless said' },
      },
      required: ['day'],
      additionalProperties: false,
    },
    output_schema: {
      type: 'object',
      properties: {
        entries: {
          type: 'array',
          items: {
            type: 'object',
            properties: {
              start: { type: 'string' },
              end: { type: 'string' },
              all_day: { type: 'boolean' },
              summary: { type: 'string' },
              location: { type: ['string', 'null'] },
              calendar: { type: 'string' },
            },
            required: ['start', 'end', 'all_day', 'summary', 'location', 'calendar'],
          },
        },
      },
      required: ['entries'],
    },
    annotations: { readOnlyHint: true, openWorldHint: false },
    async run({ day, days = 1 }: { day: string; days?: number }, { config }: { config: { folder: string } }) {
      const from = ICAL.Time.fromDateString(day);
      const to = from.clone();
      to.adjust(days, 0, 0, 0);
      const folder = path.resolve(import.meta.dirname, '..', config.folder);
      const files = (await readdir(folder)).filter((name) => name.endsWith('.ics')).sort();
      const entries = (
        await Promise.all(
          files.map(async (name) =>
            entriesOf(await readFile(path.join(folder, name), 'utf8'), path.basename(name, '.ics'), from, to),
          ),
        )
      ).flat();
      return {
        entries: entries.sort((a, b) =>
          a.start < b.start ? -1 : a.start > b.start ? 1 : a.summary < b.summary ? -1 : 1,
        ),
      };
    },
  },
};

function entriesOf(text: string, calendar: string, from: ICAL.Time, to: ICAL.Time): Entry[] {
  const root = new ICAL.Component(ICAL.parse(text));
  for (const zone of root.getAllSubcomponents('vtimezone')) ICAL.TimezoneService.register(zone);
  const events = root.getAllSubcomponents('vevent').map((component) => new ICAL.Event(component));
  const masters = events.filter((event) => !event.isRecurrenceException());
  for (const master of masters)
    for (const moved of events)
      if (moved.isRecurrenceException() && moved.uid === master.uid) master.relateException(moved);
  return masters.flatMap((event) => occurrences(event, from, to).map((one) => entryOf(one, calendar)));
}

interface Occurrence {
  readonly item: ICAL.Event;
  readonly start: ICAL.Time;
  readonly end: ICAL.Time;
}

function occurrences(event: ICAL.Event, from: ICAL.Time, to: ICAL.Time): Occurrence[] {
  const inside = ({ start, end }: Occurrence) =>
    start.compare(to) < 0 && (end.compare(from) > 0 || start.compare(from) >= 0);
  if (!event.isRecurring()) {
    const one = { item: event, start: event.startDate, end: event.endDate };
    return inside(one) ? [one] : [];
  }
  const found: Occurrence[] = [];
  const iterator = event.iterator();
  for (let count = 0; count < MOST_OCCURRENCES; count += 1) {
    const next = iterator.next();
    if (next === null || next === undefined) break;
    const details = event.getOccurrenceDetails(next);
    const one = { item: details.item, start: details.startDate, end: details.endDate };
    if (inside(one)) found.push(one);
    // A moved occurrence may stand earlier than its place, so look a month further before giving up.
    const limit = to.clone();
    limit.adjust(31, 0, 0, 0);
    if (next.compare(limit) > 0) break;
  }
  return found;
}

function entryOf({ item, start, end }: Occurrence, calendar: string): Entry {
  return {
    start: start.toString(),
    end: end.toString(),
    all_day: start.isDate,
    summary: item.summary ?? '',
    location: item.location ?? null,
    calendar,
  };
}
