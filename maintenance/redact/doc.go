// Package redact removes payloads from a log: it finds the events that contain a text, blanks them in one
// transaction together with the event that records it, and then removes the text from everything derived from them.
// Work interrupted by a kill is resumed: a redaction with a log.redacted but no log.forgotten is pending.
package redact
