//go:build !unix

package ndjson

import (
	"io/fs"
	"os"
)

// identify returns nothing on this system; files are recognised by their beginnings.
func identify(fs.FileInfo) identity { return identity{} }

func openLog(path string, flags int) (*os.File, error) { return os.OpenFile(path, flags, logMode) }
