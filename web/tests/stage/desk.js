import { createInterface } from 'node:readline';

// An MCP server over standard input and output. Its tool `book` asks for input from a person, and says what it got.

/** @param {object} message */
const send = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);

const form = {
  type: 'object',
  required: ['email'],
  properties: {
    email: { type: 'string', format: 'email', title: '메일 주소' },
    meal: { type: 'string', enum: ['soup', 'salad'], enumNames: ['수프', '샐러드'], default: 'salad' },
    seats: { type: 'integer', minimum: 1, maximum: 9, title: '자리', description: '몇 명이 가나요?' },
    window: { type: 'boolean', title: '창가' },
  },
};

/** Calls that wait for an answer, by the id of the request for it. @type {Map<string, unknown>} */
const waiting = new Map();
let asked = 0;

/** @type {Record<string, (params: any) => object>} */
const answers = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: 'desk', version: '1' },
  }),
  ping: () => ({}),
  'tools/list': () => ({
    tools: [{ name: 'book', description: 'Books a journey.', inputSchema: { type: 'object', properties: {} } }],
  }),
};

/** @param {any} message */
function hear({ id, method, params, result, error }) {
  if (method === undefined) {
    const call = waiting.get(id);
    waiting.delete(id);
    const said = result?.action === 'accept' ? `booked for ${JSON.stringify(result.content)}` : 'not booked';
    send({ id: call, result: { content: [{ type: 'text', text: error ? error.message : said }] } });
  } else if (method === 'tools/call') {
    const question = `question-${++asked}`;
    waiting.set(question, id);
    send({
      id: question,
      method: 'elicitation/create',
      params: { message: '누가 여행하나요?', requestedSchema: form },
    });
  } else if (id !== undefined) {
    const answer = answers[method];
    if (answer) return send({ id, result: answer(params) });
    send({ id, error: { code: -32601, message: `There is no ${method}.` } });
  }
}

createInterface({ input: process.stdin }).on('line', (line) => hear(JSON.parse(line)));
