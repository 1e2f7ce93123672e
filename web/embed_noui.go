//go:build noui

package web

import "io/fs"

// Files returns nil: the program was built without the page.
func Files() fs.FS { return nil }
