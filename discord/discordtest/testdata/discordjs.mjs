// An unmodified discord.js against discordtest: it prints a line for each step, which the test compares.
// Arguments: the server's address, the bot's token. MODULES is where discord.js is installed.
import { createRequire } from 'node:module'
import { createInterface } from 'node:readline'

const require = createRequire(process.env.MODULES + '/package.json')
const { ActionRowBuilder, ButtonBuilder, ButtonStyle, ChannelType, Client, Events, GatewayIntentBits } = require('discord.js')
const [api, token] = process.argv.slice(2)
const say = (...words) => console.log(...words)
const { Guilds, GuildMessages, MessageContent, DirectMessages } = GatewayIntentBits
const client = new Client({ intents: [Guilds, GuildMessages, MessageContent, DirectMessages], rest: { api, version: '10' } })

client.on(Events.Error, (e) => say('error', e.message))
client.on(Events.MessageCreate, async (m) => {
  if (m.author.bot) return
  say('message', m.cleanContent, m.mentions.users.map((u) => u.username).join() || '-', m.channel.isThread() ? 'thread' : 'channel')
  if (m.content === 'buttons') {
    const button = (id, style) => new ButtonBuilder().setCustomId(id).setLabel(id).setStyle(style)
    const row = new ActionRowBuilder().addComponents(button('yes', ButtonStyle.Success), button('no', ButtonStyle.Danger))
    await m.channel.send({ content: 'approve?', components: [row] })
  } else if (m.mentions.users.size > 0) {
    await m.reply('a reply')
  }
})
client.on(Events.InteractionCreate, async (i) => {
  if (!i.isButton()) return
  await i.update({ content: 'approved', components: [] })
  await i.followUp({ content: 'thanks', ephemeral: true })
  say('pressed', i.customId, i.user.username)
})

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]()
const ready = new Promise((done) => client.once(Events.ClientReady, done))
await client.login(token)
await ready
say('ready', client.user.username, client.guilds.cache.first().name)
const { value: id } = await lines.next()
const channel = await client.channels.fetch(id)
const thread = await channel.threads.create({ name: 'plans', type: ChannelType.PublicThread })
await thread.send('in the thread')
say('thread', thread.name, thread.parent.name, (await thread.messages.fetch({ limit: 5 })).first().content)
const sent = await channel.send('x')
say('edited', (await sent.edit('y')).content)
await sent.delete()
for (const content of ['x'.repeat(2001), '']) {
  try {
    await channel.send(content)
    say('accepted')
  } catch (e) {
    say('refused', e.code, e.status)
  }
}
await lines.next()
await client.destroy()
say('stopped')
process.exit(0)
