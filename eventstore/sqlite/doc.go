// Package sqlite keeps the event log in one SQLite file. It is the only package that imports the driver. See DESIGN.md beside it for
// why it is built this way.
//
// One goroutine writes, through one connection, and commits what is queued as one group; readers have a pool of their own. The live
// file must never be opened by other means inside this process: closing such a handle drops SQLite's locks (DESIGN.md).
package sqlite
