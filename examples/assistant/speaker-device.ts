import { createSocket } from 'node:dgram';
import { createServer } from 'node:http';

/**
 * A speaker for trying things out: a UPnP MediaRenderer:1 with RenderingControl:1, as such devices speak it: SSDP answers, a device
 * description, SOAP actions, UPnP errors. `node speaker-device.ts [PORT]`; prints its description's URL, and every volume that is set.
 */
const SERVICE = 'urn:schemas-upnp-org:service:RenderingControl:1';
const DEVICE = 'urn:schemas-upnp-org:device:MediaRenderer:1';
let volume = 30;

const description = `<?xml version="1.0" encoding="utf-8"?>
<root xmlns="urn:schemas-upnp-org:device-1-0"><specVersion><major>1</major><minor>0</minor></specVersion>
<device><deviceType>${DEVICE}</deviceType><friendlyName>Kitchen</friendlyName><manufacturer>Proctor examples</manufacturer>
<modelName>Fixture</modelName><UDN>uuid:8f2b7a3c-0000-4000-8000-000000000001</UDN><serviceList>
<service><serviceType>urn:schemas-upnp-org:service:ConnectionManager:1</serviceType><serviceId>urn:upnp-org:serviceId:ConnectionManager</serviceId><SCPDURL>/cm.xml</SCPDURL><controlURL>/cm</controlURL><eventSubURL>/cm/event</eventSubURL></service>
<service><serviceType>${SERVICE}</serviceType><serviceId>urn:upnp-org:serviceId:RenderingControl</serviceId><SCPDURL>/rc.xml</SCPDURL><controlURL>/MediaRenderer/RenderingControl/Control</controlURL><eventSubURL>/rc/event</eventSubURL></service>
</serviceList></device></root>`;

const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    const send = (status: number, body: string) =>
      response.writeHead(status, { 'content-type': 'text/xml; charset="utf-8"', ext: '' }).end(body);
    if (request.method === 'GET' && request.url === '/description.xml') return send(200, description);
    if (request.method !== 'POST' || request.url !== '/MediaRenderer/RenderingControl/Control') return send(404, '');
    const action = new RegExp(`^"${SERVICE.replaceAll('.', '\\.')}#(\\w+)"$`).exec(
      String(request.headers['soapaction']),
    )?.[1];
    const body = Buffer.concat(chunks).toString();
    const argument = (name: string) => new RegExp(`<${name}>([^<]*)</${name}>`).exec(body)?.[1];
    if (argument('InstanceID') !== '0') return send(500, fault(718, 'Invalid InstanceID'));
    if (action === 'GetVolume') return send(200, answer('GetVolume', `<CurrentVolume>${volume}</CurrentVolume>`));
    if (action !== 'SetVolume') return send(500, fault(401, 'Invalid Action'));
    const wanted = argument('DesiredVolume') ?? '';
    if (argument('Channel') !== 'Master' || !/^\d+$/.test(wanted)) return send(500, fault(402, 'Invalid Args'));
    if (Number(wanted) > 100) return send(500, fault(601, 'Argument Value Out of Range'));
    volume = Number(wanted);
    process.stdout.write(`volume ${volume}\n`);
    return send(200, answer('SetVolume', ''));
  });
});

function envelope(body: string): string {
  return `<?xml version="1.0"?><s:Envelope xmlns:s="http://schemas.xmlsoap.org/soap/envelope/" s:encodingStyle="http://schemas.xmlsoap.org/soap/encoding/"><s:Body>${body}</s:Body></s:Envelope>`;
}

function answer(action: string, members: string): string {
  return envelope(`<u:${action}Response xmlns:u="${SERVICE}">${members}</u:${action}Response>`);
}

function fault(code: number, text: string): string {
  return envelope(
    `<s:Fault><faultcode>s:Client</faultcode><faultstring>UPnPError</faultstring><detail><UPnPError xmlns="urn:schemas-upnp-org:control-1-0"><errorCode>${code}</errorCode><errorDescription>${text}</errorDescription></UPnPError></detail></s:Fault>`,
  );
}

server.listen(Number(process.argv[2] ?? 0), '127.0.0.1', () => {
  const address = server.address();
  if (typeof address !== 'object' || address === null) throw new Error('the speaker has no address');
  const location = `http://127.0.0.1:${address.port}/description.xml`;
  const ssdp = createSocket('udp4');
  ssdp.on('message', (data, from) => {
    const text = data.toString();
    if (
      !text.startsWith('M-SEARCH') ||
      !/^st:\s*(ssdp:all|urn:schemas-upnp-org:device:MediaRenderer:1)\s*$/im.test(text)
    )
      return;
    const lines = [
      'HTTP/1.1 200 OK',
      'CACHE-CONTROL: max-age=1800',
      'EXT:',
      `LOCATION: ${location}`,
      'SERVER: Linux UPnP/1.0 Proctor/1.0',
      `ST: ${DEVICE}`,
      `USN: uuid:8f2b7a3c-0000-4000-8000-000000000001::${DEVICE}`,
      '',
      '',
    ];
    ssdp.send(lines.join('\r\n'), from.port, from.address);
  });
  ssdp.bind(0, '127.0.0.1', () => process.stdout.write(`speaker ${location} ssdp 127.0.0.1:${ssdp.address().port}\n`));
});
