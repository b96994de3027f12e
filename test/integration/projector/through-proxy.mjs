// Preloaded into a projector: leads its connections to Kafka through the test's proxy, although Kafka tells
// its clients its own address.
import net from 'node:net'

const { PROXIED_PORT, PROXY_PORT } = process.env
const connect = net.connect
net.connect = (options, ...rest) =>
  String(options.port) === PROXIED_PORT
    ? connect({ ...options, port: Number(PROXY_PORT) }, ...rest)
    : connect(options, ...rest)
