// An unmodified Bolt against slacktest: it prints a line for each step, which the test compares.
// Arguments: socket or http, the server's address, the app's token, its app token or signing secret. MODULES is where Bolt is installed.
import { createRequire } from 'node:module'
import { createInterface } from 'node:readline'

const require = createRequire(process.env.MODULES + '/package.json')
const { App, LogLevel } = require('@slack/bolt')
const [mode, slackApiUrl, token, secret] = process.argv.slice(2)
const say = (...words) => console.log(...words)
const clientOptions = { slackApiUrl }
const own = mode === 'socket' ? { socketMode: true, appToken: secret, installerOptions: { clientOptions } } : { signingSecret: secret }
const app = new App({ token, clientOptions, logLevel: LogLevel.ERROR, ...own })

app.event('app_mention', async ({ event, say: answer, client }) => {
  const { user } = await client.users.info({ user: event.user })
  say('mentioned by', user.profile.display_name, event.text.replace(/<@[A-Z0-9]+> /, ''))
  await answer({ text: 'in the thread', thread_ts: event.ts })
})
app.message('buttons', async ({ message, say: answer }) => {
  say('message', message.text)
  const element = (id, style) => ({ type: 'button', action_id: id, style, text: { type: 'plain_text', text: id } })
  await answer({
    text: 'approve?',
    blocks: [
      { type: 'section', text: { type: 'mrkdwn', text: '*approve?*' } },
      { type: 'actions', elements: [element('yes', 'primary'), element('no', 'danger')] },
    ],
  })
})
app.action('yes', async ({ ack, body, respond, client }) => {
  await ack()
  await respond({ text: 'thanks', response_type: 'ephemeral', replace_original: false })
  await client.chat.update({ channel: body.channel.id, ts: body.message.ts, text: 'approved', blocks: [] })
  say('pressed', body.actions[0].action_id, body.message.text)
})
app.command('/ask', async ({ command, ack }) => {
  await ack('asked: ' + command.text)
  say('command', command.text)
})
app.error(async (e) => say('error', e.message))

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]()
const server = await app.start(mode === 'socket' ? undefined : { port: 0, host: '127.0.0.1' })
say('ready', mode === 'socket' ? '-' : server.address().port)
const { value: channel } = await lines.next()
const me = await app.client.auth.test()
const sent = await app.client.chat.postMessage({ channel, text: 'hello from ' + me.user })
const page = await app.client.conversations.history({ channel, limit: 5 })
say('history', page.messages[0].text, page.messages[0].ts === sent.ts)
try {
  await app.client.chat.postMessage({ channel: 'C404', text: 'x' })
  say('nowhere was accepted')
} catch (e) {
  say('nowhere', e.data.error)
}
await lines.next()
await app.stop()
say('stopped')
process.exit(0)
