// Package discordtest is a Discord server for tests. Real clients (github.com/bwmarrin/discordgo and discord.js,
// unchanged) connect to it over HTTP and a gateway socket and cannot tell the difference.
//
// A Server holds guilds, channels, threads, messages, bots and people. Point directs a discordgo session to it without
// changing the library's package variables, so that many servers run in one test binary. People act through calls of
// the test (Post, Reply, Click, Slash), bots through their sessions. Faults are scripted (Inject, InjectDispatch, the
// methods of Bot). Requests, posts and dispatches can be inspected, and waited for without sleeping (Until and the
// Wait methods).
//
// It guarantees:
//   - one order: everything happens under one lock, and every bot receives events in that order unless a fault changes it;
//   - a request is done completely before its answer is written, or not at all;
//   - refusals in Discord's format: status, code, message, and the fields of an invalid form;
//   - visibility as Discord computes it from roles and overwrites, intents, and content hidden from bots that may not read it;
//   - a resumed session receives each missed dispatch once, in order, before RESUMED;
//   - ids are derived from the clock of Options alone, ascending;
//   - rate limits by route, bot and channel, with Discord's headers;
//   - no goroutine and no connection remains after Close, once the clients are closed.
//
// A bot may do what everyone may, like one invited without permissions; others, such as ManageWebhooks, are granted by
// the test (Grant).
//
// Where Discord's documentation is silent it is strict. Lengths are counted in code points, as Discord's engineers say
// they are (discord-api-docs issue 1315).
//
// Not implemented: voice, stickers, polls, pins, bulk deletion, invites, bans, emoji and role routes, audit logs,
// scheduled events, automatic moderation, stage channels, entitlements, sharding across sockets, etf and zlib-stream
// (whole payloads are compressed on request), the limits on identifies and on commands per socket, slow mode, and
// sockets closed for missing heartbeats. Files lie at addresses that are signed, and valid for a day. Embeds and
// components are stored as received; only the number of embeds is checked. A bot receives only channels that it may
// view; one that is admitted later receives CHANNEL_UPDATE and no list of threads. Idle threads are archived when the
// test calls ArchiveIdle. The log of a session is never truncated: it ends with the server.
package discordtest
