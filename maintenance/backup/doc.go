// Package backup makes copies of a log in use, verifies them, keeps the newest ones and restores one.
//
// A copy is a whole database: log and tables at one moment. It gets its final name only after it was verified, so
// every file with the name of a backup is one. Beside it lies a manifest, a small JSON file that says what it
// holds.
package backup
