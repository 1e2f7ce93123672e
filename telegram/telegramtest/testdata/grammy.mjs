// An unmodified grammy against telegramtest: it prints a line for each step, which the test compares.
// Arguments: the server's address, the bot's token, the id of a group, that of a forum. MODULES is where grammy is installed.
import { createRequire } from 'node:module'
import { createInterface } from 'node:readline'

const require = createRequire(process.env.MODULES + '/package.json')
const { Bot, GrammyError, InlineKeyboard, InputFile } = require('grammy')
const [apiRoot, token, group, forum] = process.argv.slice(2)
const say = (...words) => console.log(...words)
const bot = new Bot(token, { client: { apiRoot } })

bot.command('start', (ctx) => ctx.reply('hello ' + ctx.from.first_name))
bot.on('message:photo', async (ctx) => say('photo', ctx.message.caption, (await ctx.getFile()).file_path.split('/')[0]))
bot.on('edited_message:text', (ctx) => say('edited', ctx.editedMessage.text))
bot.on('message_reaction', (ctx) => say('reaction', ctx.reactions().emojiAdded.join()))
bot.on('my_chat_member', (ctx) => say('member', ctx.chat.title ?? ctx.chat.first_name, ctx.myChatMember.new_chat_member.status))
bot.callbackQuery('yes', async (ctx) => {
  await ctx.answerCallbackQuery({ text: 'thanks', show_alert: true })
  await ctx.editMessageText('approved')
  say('pressed', ctx.callbackQuery.data, ctx.callbackQuery.message.text)
})
bot.on('message:text', async (ctx) => {
  say('text', ctx.message.text, ctx.message.entities?.map((e) => e.type).join() ?? '-', ctx.message.message_thread_id ? 'topic' : ctx.chat.type)
  if (ctx.message.text === 'buttons') await ctx.reply('approve?', { reply_markup: new InlineKeyboard().text('Yes', 'yes').text('No', 'no') })
  if (ctx.message.text.startsWith('@')) await ctx.reply('*bold* and `code`', { parse_mode: 'MarkdownV2', reply_parameters: { message_id: ctx.msgId } })
})
bot.catch((e) => say('error', e.message))

async function refused(what, call) {
  try {
    await call()
    say(what, 'was accepted')
  } catch (e) {
    say(what, e instanceof GrammyError ? e.error_code + ' ' + e.description : e)
  }
}

// The test writes a line when the next part may begin.
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]()
await bot.api.setMyCommands([{ command: 'start', description: 'begins' }])
const polling = bot.start({ allowed_updates: ['message', 'edited_message', 'callback_query', 'message_reaction', 'my_chat_member'], onStart: (me) => say('ready', me.username) })
await lines.next()
const topic = await bot.api.createForumTopic(forum, 'plans')
const sent = await bot.api.sendMessage(forum, 'in the topic', { message_thread_id: topic.message_thread_id })
say('topic', topic.name, sent.is_topic_message)
await bot.api.sendChatAction(group, 'typing')
const file = await bot.api.sendDocument(group, new InputFile(Buffer.from('content'), 'a.txt'), { caption: 'a file' })
say('file', file.document.file_name, file.document.mime_type, file.document.file_size)
const picture = await bot.api.sendPhoto(group, new InputFile(Buffer.from('picture'), 'a.png'))
await bot.api.setMessageReaction(group, picture.message_id, [{ type: 'emoji', emoji: '👀' }])
await bot.api.deleteMessage(group, picture.message_id)
say('chat', (await bot.api.getChat(group)).title, (await bot.api.getChatAdministrators(group)).length, (await bot.api.getChatMember(group, bot.botInfo.id)).status)
say('commands', (await bot.api.getMyCommands()).map((c) => c.command).join())
await refused('markup', () => bot.api.sendMessage(group, 'a.b', { parse_mode: 'MarkdownV2' }))
await refused('long', () => bot.api.sendMessage(group, 'x'.repeat(4097)))
await refused('nowhere', () => bot.api.sendMessage(-1, 'x'))
await refused('webhook', () => bot.api.setWebhook('http://example.com'))
await lines.next()
await bot.stop()
await polling
say('stopped')
process.exit(0)
