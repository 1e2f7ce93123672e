// Package telegramtest is a Telegram Bot API server for tests. Real clients (github.com/go-telegram/bot and grammy,
// unchanged) connect to it over HTTP and cannot tell the difference.
//
// A Server holds bots, people, private chats, groups and supergroups with topics. People act through calls of the test
// (Write, Reply, Press, Edit), bots through their clients. Faults are scripted (Inject, the methods of Bot). Requests
// and messages can be inspected, and waited for without sleeping (Until and the Wait methods).
//
// It guarantees:
//   - one order: everything happens under one lock, and every bot receives its updates in that order;
//   - a request is done completely before its answer is written, or not at all;
//   - refusals in Telegram's format and words: error code, description, parameters;
//   - an update is delivered until its offset is confirmed, or its webhook has answered 2xx;
//   - visibility as Telegram documents it: privacy mode, and no bot ever receives what a bot has written;
//   - ids as Telegram gives them: those of messages are counted per supergroup, but per bot in private chats and basic
//     groups, so the same message has other ids for other bots there;
//   - no goroutine and no connection remains after Close, once the clients are closed.
//
// Where Telegram's documents are silent or contradict each other it is strict: texts are counted in UTF-16 units, and
// a message reaches at most one bot in privacy mode, though a mention of a username counts as meant for the bot, as
// BotFather says.
//
// Not implemented: parse modes other than MarkdownV2, channels, inline queries, payments, stickers, polls, business
// accounts, stories, topics in private chats, albums, forwarding, anonymous administrators, answers of a webhook that
// call a method, and updates forgotten after a day. Parameters for these are ignored. Pictures have one size.
package telegramtest
