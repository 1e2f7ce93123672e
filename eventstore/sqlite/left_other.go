//go:build !unix

package sqlite

import "io/fs"

// nameOf identifies a file as long as it is there; "": it cannot be told here.
func nameOf(fs.FileInfo) string { return "" }

// limited says why the process may not let a file grow. There are no such limits here.
func limited(string, int64) error { return nil }

// Names is how many names a file has; 1: it cannot be told here.
func Names(fs.FileInfo) uint64 { return 1 }
