//go:build !noui

package web

import (
	"embed"
	"io/fs"
)

//go:embed dist
var built embed.FS

// Files returns the files of the page, index.html among them; nil if the program was built without them, with the build tag noui.
func Files() fs.FS {
	files, err := fs.Sub(built, "dist")
	if err != nil { // only for an invalid name
		return nil
	}
	return files
}
