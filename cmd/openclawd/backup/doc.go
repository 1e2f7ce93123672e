// Package backup makes copies of a log that is being served, proves them, keeps the newest ones and brings one back.
//
// A copy is a whole database: log and tables at one moment. It gets its name when it has been proved, so that whatever bears the name
// of a backup is one. Beside it lies a manifest, a small JSON file that says what it holds.
package backup
