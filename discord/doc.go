// Package discord is the bots: one for each account of channels.discord, connected for as long as Bots.Run runs.
//
// What people and bots write comes in by Options.OnMessage, as facts, one at a time: each message once for each bot that is told of it, in the
// order in which that bot is told. What people ask for by commands, buttons and forms comes by Options.OnInteraction, past the messages, for it has
// to be answered within three seconds. What agents say goes out by Send, StartThread and their kin, answers by Answer, Amend and Add. Nothing is decided here: who handles a message is
// for coordination/route, where something is posted for coordination/collaborate, what follows from a failure for whoever asked.
//
// It promises:
//   - a token is sent to Discord and shown to nobody: no error, status or log line holds it;
//   - a request is made once. What Discord does not do is an *Error with its class, which says whether it may have been done nevertheless. A
//     message that is sent again under its nonce, within some minutes, is one message;
//   - nobody is notified but those whom a Post names, whatever its text says;
//   - what is posted in one channel is posted in the order in which it was asked for, no faster than configured;
//   - a connection that ends is taken up again. If Discord has forgotten the session, what was written meanwhile is read from the channels, within
//     bounds, before anything newer of the bot is told;
//   - an interaction is told once while the program runs, also if Discord tells it again;
//   - Sight says which bots see a place, as far as Discord tells, without asking;
//   - Configure changes the bots that it has to, and leaves the others connected.
//
// It does not promise that a message is told only once over the life of the log: after a restart of the program, or of a bot, one may be told again.
// Edits, deletions and reactions that a bot missed while it was away are not made up for. Of messages that were read from channels the roles of
// authors are known only if the bot has heard of them since. An interaction that came while the bot was away is gone: Discord takes no answer after
// three seconds.
//
// The library that carries all this stands behind the interface wire; discordgo.go alone knows it. It holds the socket, heartbeats, identifies and
// resumes. It neither reconnects, nor repeats or delays requests, nor keeps a state of its own: all that is done here.
package discord
