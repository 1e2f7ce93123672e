//go:build !unix

package sqlite

import "io/fs"

// nameOf identifies a file as long as it exists; "" because this system cannot tell.
func nameOf(fs.FileInfo) string { return "" }

// limited returns why the process may not let a file grow. This system has no such limits.
func limited(string, int64) error { return nil }

// Names returns the number of names of a file; 1 because this system cannot tell.
func Names(fs.FileInfo) uint64 { return 1 }
