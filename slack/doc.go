// Package slack connects the apps of channels.slack, one per account, in Socket Mode or as receivers of the Events API.
// Apps implement channel.Channel.
//
// Besides what channel.Channel promises:
//   - an event is acknowledged after the fact that it tells is stored. What is not acknowledged Slack sends again; what it
//     gives up is read from the conversations when the app connects again;
//   - requests to a request URL count only with a signature of the last five minutes;
//   - a text notifies only the users named by a Post: everything else that Slack would take as a mention is escaped;
//   - what the app posts itself comes back as a fact, like what others write.
//
// Edits and deletions during a disconnection are lost, and so are interactions. Replies in a thread that nothing was
// written in for a week, and that has no message since the disconnection, are not read afterwards.
//
// The library is hidden behind the interface wire; only library.go uses it.
package slack
