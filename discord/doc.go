// Package discord runs the bots: one per account of channels.discord, connected while Bots.Run runs.
//
// Messages arrive through channel.Options.OnMessage as facts, one at a time: each message once per bot that receives it, in
// that bot's order. Commands, buttons and forms arrive through channel.Options.OnInteraction, independently of messages,
// because they have to be answered within three seconds. Agents' posts are sent by Send, StartThread and the like,
// answers to interactions by Answer, Amend and Add. No decisions are made here: coordination/route decides who handles
// a message, coordination/collaborate where something is posted, and callers how to react to failures.
//
// It guarantees:
//   - a token is sent only to Discord: no error, status or log line contains it;
//   - a request is made once. A failure is a *channel.Error whose class says whether the request may have been executed nevertheless. A message sent again with its nonce within some minutes is one message;
//   - only the users named by a Post are notified, whatever its text contains;
//   - posts in one channel are sent in order, no faster than configured;
//   - a lost connection is restored. If Discord has forgotten the session, missed messages are fetched from the channels, within bounds, before newer ones of the bot are delivered;
//   - an interaction is delivered once while the program runs, even if Discord repeats it;
//   - Sight returns which bots see a place, as far as known from events, without requests;
//   - Configure changes only the bots that it has to.
//
// A message may be delivered again after a restart of the program or of a bot. Edits, deletions and reactions during a
// disconnection are lost. For fetched messages the authors' roles are known only if the bot has received them since.
// An interaction during a disconnection is lost: Discord accepts no answer after three seconds.
//
// The library is hidden behind the interface wire; only discordgo.go uses it. It handles the socket, heartbeats,
// identify and resume. It neither reconnects, nor repeats or delays requests, nor caches state: all of that is done
// here.
package discord
