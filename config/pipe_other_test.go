//go:build !unix

package config_test

import "os"

// pipe makes a directory: there are no pipes with names here, and neither is a file to read.
func pipe(path string) error { return os.Mkdir(path, 0o700) }
