// Package sqlite stores the event log in one SQLite file. It is the only package that imports the driver. DESIGN.md
// beside it explains the design.
//
// One goroutine writes, through one connection, and commits queued requests as one group; readers have their own pool.
// The live file must never be opened by other means inside this process: closing such a handle drops SQLite's locks
// (DESIGN.md).
package sqlite
