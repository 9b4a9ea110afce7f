import { createSocket } from 'node:dgram';

/** What the operator configures: where the device's description is, or where to search for it. */
interface Config {
  readonly location?: string;
  /** Where M-SEARCH goes; the UPnP multicast group unless said. */
  readonly search?: string;
}

interface Options {
  readonly signal: AbortSignal;
  readonly config: Config;
}

const RENDERING_CONTROL = 'urn:schemas-upnp-org:service:RenderingControl:1';
const SEARCH_MS = 3_000;

/** Tools for a UPnP media renderer (Sonos and others): RenderingControl:1 over SOAP, found by SSDP or by its description's URL. */
export const tools = {
  get_volume: {
    description: 'The volume of the speaker, from 0 to 100.',
    input_schema: { type: 'object', properties: {}, additionalProperties: false },
    output_schema: VOLUME(),
    annotations: { readOnlyHint: true, openWorldHint: false },
    async run(_input: object, { signal, config }: Options) {
      const control = await controlUrl(config, signal);
      return { volume: await getVolume(control, signal) };
    },
  },
  set_volume: {
    description: 'Sets the volume of the speaker, from 0 to 100; answers the volume that it then has.',
    input_schema: {
      type: 'object',
      properties: { volume: { type: 'integer', minimum: 0, maximum: 100 } },
      required: ['volume'],
      additionalProperties: false,
    },
    output_schema: VOLUME(),
    annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: false },
    async run({ volume }: { volume: number }, { signal, config }: Options) {
      const control = await controlUrl(config, signal);
      await soap(control, 'SetVolume', { InstanceID: 0, Channel: 'Master', DesiredVolume: volume }, signal);
      return { volume: await getVolume(control, signal) };
    },
  },
};

function VOLUME() {
  return { type: 'object', properties: { volume: { type: 'integer' } }, required: ['volume'] };
}

async function getVolume(control: URL, signal: AbortSignal): Promise<number> {
  const answer = await soap(control, 'GetVolume', { InstanceID: 0, Channel: 'Master' }, signal);
  const volume = element(answer, 'CurrentVolume');
  if (volume === null || !/^\d+$/.test(volume)) throw new Error('the speaker answered without a CurrentVolume');
  return Number(volume);
}

/** The control URL of the device's RenderingControl service, from its description (UPnP Device Architecture 1.0, §2). */
async function controlUrl(config: Config, signal: AbortSignal): Promise<URL> {
  const location =
    config.location === undefined || config.location === '' ? await search(config.search, signal) : config.location;
  const response = await fetch(location, { signal });
  if (!response.ok) throw new Error(`the speaker's description answered ${response.status}`);
  const description = await response.text();
  const base = element(description, 'URLBase') ?? location;
  for (const [, service = ''] of description.matchAll(/<service>([\s\S]*?)<\/service>/g))
    if (element(service, 'serviceType') === RENDERING_CONTROL)
      return new URL(element(service, 'controlURL') ?? '', base);
  throw new Error('the device has no RenderingControl:1, so its volume cannot be set');
}

/** Calls a SOAP action; a UPnP error is told with its code and description. */
async function soap(
  control: URL,
  action: string,
  input: Record<string, string | number>,
  signal: AbortSignal,
): Promise<string> {
  const members = Object.entries(input).map(([name, value]) => `<${name}>${escaped(String(value))}</${name}>`);
  const body = `<?xml version="1.0" encoding="utf-8"?>
<s:Envelope xmlns:s="http://schemas.xmlsoap.org/soap/envelope/" s:encodingStyle="http://schemas.xmlsoap.org/soap/encoding/"><s:Body><u:${action} xmlns:u="${RENDERING_CONTROL}">${members.join('')}</u:${action}></s:Body></s:Envelope>`;
  const response = await fetch(control, {
    method: 'POST',
    headers: { 'content-type': 'text/xml; charset="utf-8"', soapaction: `"${RENDERING_CONTROL}#${action}"` },
    body,
    signal,
  });
  const text = await response.text();
  if (response.ok) return text;
  const code = element(text, 'errorCode');
  throw new Error(
    code === null
      ? `the speaker answered ${response.status}`
      : `the speaker refused ${action}: UPnP error ${code}, ${element(text, 'errorDescription') ?? 'no description'}`,
  );
}

/** Searches the network for a media renderer (SSDP, §1.3.2 of the UPnP Device Architecture). */
function search(target = '239.255.255.250:1900', signal: AbortSignal): Promise<string> {
  const [host = '', port = '1900'] = target.split(':');
  const message = [
    'M-SEARCH * HTTP/1.1',
    `HOST: ${target}`,
    'MAN: "ssdp:discover"',
    'MX: 2',
    'ST: urn:schemas-upnp-org:device:MediaRenderer:1',
    '',
    '',
  ].join('\r\n');
  return new Promise((resolve, reject) => {
    const socket = createSocket('udp4');
    const timer = setTimeout(
      () =>
        end(() =>
          reject(new Error(`no speaker answered within ${SEARCH_MS} ms; write its description's URL as \`location\``)),
        ),
      SEARCH_MS,
    );
    const end = (settle: () => void) => {
      clearTimeout(timer);
      socket.close();
      settle();
    };
    signal.addEventListener('abort', () => end(() => reject(new Error('the search was stopped'))), { once: true });
    socket.on('error', (error) => end(() => reject(error)));
    socket.on('message', (data) => {
      const location = /^location:\s*(\S+)/im.exec(data.toString())?.[1];
      if (location !== undefined) end(() => resolve(location));
    });
    socket.send(message, Number(port), host);
  });
}

/** The text of the first element of a name, whatever its prefix. */
function element(xml: string, name: string): string | null {
  const found = new RegExp(`<(?:\\w+:)?${name}(?:\\s[^>]*)?>([^<]*)</`).exec(xml)?.[1];
  return found === undefined
    ? null
    : found
        .replaceAll('&lt;', '<')
        .replaceAll('&gt;', '>')
        .replaceAll('&quot;', '"')
        .replaceAll('&apos;', "'")
        .replaceAll('&amp;', '&')
        .trim();
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
