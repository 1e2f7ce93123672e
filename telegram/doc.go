// Package telegram runs the bots of Telegram: one per account of channels.telegram, connected while Bots.Run runs. It
// implements channel.Channel; see there for what that guarantees.
//
// Besides, it guarantees:
//   - an update is confirmed to Telegram only after Options.OnMessage has returned: a kill loses none, and what was not
//     confirmed comes again with the same id;
//   - what our bots write is delivered to Options.OnMessage from here, because Telegram shows no bot what bots write;
//   - a text that Telegram cannot parse is posted without markup.
//
// A message that may have been posted cannot be searched for: Telegram lets bots read no chat. FindMessage and
// FindThread therefore always return an error. Deletions are not delivered, and edits in a basic group only of messages
// since the start. A button pressed while the program is not running is delivered later, if Telegram still accepts an
// answer.
//
// The library is hidden behind the interface wire; only library.go uses it.
package telegram
