// Package discordtest is a Discord that runs inside a test. Real clients (github.com/bwmarrin/discordgo and discord.js, unchanged) talk to it over
// HTTP and a gateway socket and cannot tell.
//
// A Server holds guilds, channels, threads, messages, bots and people. Point aims a discordgo session at it, without touching the library's
// package variables, so that many servers run in one test binary. People act by calls of the test (Post, Reply, Click, Slash); bots act by their
// sessions. Faults are scripted (Inject, InjectDispatch, the methods of Bot). What was asked, posted and dispatched can be read, and waited for
// without sleeping (Until and the Wait methods).
//
// It promises:
//   - one order: everything that happens is done under one lock; every bot is told in that order, unless a fault says otherwise;
//   - what one request does is done whole before its answer is written, or not at all;
//   - refusals in Discord's words: status, code, message, and the fields of an invalid form;
//   - visibility as Discord computes it from roles and overwrites, intents, and content hidden from bots that may not read it;
//   - a session that is resumed gets each missed dispatch once, in order, before RESUMED;
//   - ids that follow from the clock of Options alone, ascending;
//   - rate limits by route, bot and channel, with Discord's headers;
//   - no goroutine and no connection left after Close, once the clients are closed.
//
// A bot may do what everyone may, as one that was invited without permissions of its own: what else it needs, such as ManageWebhooks, is granted by
// the test (Grant).
//
// Where Discord's documents are silent it does the stricter thing. Lengths are counted in code points, as Discord's engineers say they do
// (discord-api-docs issue 1315).
//
// It leaves out: voice, stickers, polls, pins, bulk deletion, invites, bans, emoji and role routes, audit logs, scheduled events, automatic
// moderation, stage channels, entitlements, sharding across sockets, etf and zlib-stream (whole payloads are compressed when a client asks), the
// limits on identifies and on commands per socket, slow mode, and sockets closed for missing heartbeats. Attachments keep their name, type and
// size, not their bytes. Embeds and components are kept as they came; of their inside only the number of embeds is judged. A bot is told only of
// channels that it may view; one that is let in later gets CHANNEL_UPDATE and no list of threads. Threads are archived for idleness when the test
// calls ArchiveIdle. The log of a session is never cut: it ends with the server.
package discordtest
