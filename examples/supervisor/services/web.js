import { createServer } from 'node:http';

// A web server. PORT 0 means any that is free: look for it in the output.
const server = createServer((request, response) => {
  console.log(`${request.method} ${request.url}`);
  response.end(`Hello from process ${process.pid}\n`);
});
server.listen(Number(process.env['PORT']), '127.0.0.1', () => {
  const address = server.address();
  if (address !== null && typeof address === 'object') console.log(`listening on http://127.0.0.1:${address.port}`);
});

process.on('SIGTERM', () => {
  console.log('closing');
  server.close();
  server.closeAllConnections();
});
