// Package redaction has a log forget payloads: it finds the events that hold a text, blanks them in one transaction with the event that tells of it,
// and then has everything that was made of them forget it too. What a kill leaves undone is done again: a redaction that log.redacted began and
// that no log.forgotten has ended is pending.
package redaction
