// An MCP server with one tool, for the configuration of OpenClaw in a test.
import { createInterface } from 'node:readline'
const tools = [{ name: 'now', description: 'The time', inputSchema: { type: 'object', properties: {} } }]
const answers = {
  initialize: (p) => ({ protocolVersion: p.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'clock', version: '1' } }),
  'tools/list': () => ({ tools }),
  'tools/call': () => ({ content: [{ type: 'text', text: 'noon' }] }),
  ping: () => ({}),
}
for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line)
  if (id !== undefined && answers[method]) console.log(JSON.stringify({ jsonrpc: '2.0', id, result: answers[method](params) }))
}
