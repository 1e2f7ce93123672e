//go:build !unix

package ndjson

import (
	"io/fs"
	"os"
)

// identify knows nothing here; the beginnings of the files have to do.
func identify(fs.FileInfo) identity { return identity{} }

func openLog(path string, flags int) (*os.File, error) { return os.OpenFile(path, flags, logMode) }
