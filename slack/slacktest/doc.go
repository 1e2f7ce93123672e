// Package slacktest is a Slack workspace for tests. Real clients (github.com/slack-go/slack and @slack/bolt, unchanged)
// connect to it over HTTP, in Socket Mode and as receivers of the Events API.
//
// A Server holds one workspace with apps, people, conversations, messages and files. A client is directed to it by its
// option for the address of the Web API (URL). People act through calls of the test (Post, Reply, Press, Slash), apps
// through their clients. Faults are scripted (Inject, the methods of App). Requests, deliveries and messages can be
// inspected, and waited for without sleeping (Until and the Wait methods).
//
// It guarantees:
//   - one order: everything happens under one lock, and an app is told in that order unless a fault changes it;
//   - a request is done completely before its answer is written, or not at all;
//   - refusals in Slack's format: HTTP 200 with ok false and an error, missing_scope with what is needed and provided,
//     429 with Retry-After;
//   - an envelope, or a request of the Events API, that is not acknowledged in time is made again, with the same event_id;
//   - requests of the Events API are signed;
//   - timestamps of messages are unique and ascending, from the clock of Options alone;
//   - no goroutine and no connection remains after Close, once the clients are closed.
//
// An app is told of its own posts, as Slack does it and clients such as Bolt leave them out; see Options.NoOwnPosts.
//
// Where Slack's documentation is silent it is strict: a reply to an unknown message or to a reply is refused, and a
// section, a button or a message beyond its limit is refused or cut.
//
// Not implemented: views and modals, shortcuts, OAuth, user tokens, Enterprise Grid, Slack Connect, pins, bookmarks,
// reminders, scheduled messages, canvases, search, user groups, statuses and the administration methods. Blocks are
// stored as received; only their number and the lengths of sections and buttons are checked.
package slacktest
