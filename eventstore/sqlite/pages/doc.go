// Package pages keeps several states of one SQLite database as layers of pages: a layer holds the pages that have
// changed since the layer below, so states share all others. SQLite reads and writes them through a VFS of this package.
//
// A Dir holds the layers. An Image is a complete state: layers on each other. A File is an image under a name that
// SQLite opens; what is written to it becomes the next layer. Layers that are kept survive the process.
package pages

import "errors"

// Size is the page size of every database here, in bytes.
const Size = 4096

// ErrDamaged says that a layer's file does not hold what was written to it. It is disposable: remove it.
var ErrDamaged = errors.New("the kept pages are damaged")

var (
	errSealed   = errors.New("a sealed layer cannot be changed")
	errUnknown  = errors.New("the page is in no layer")
	errReadOnly = errors.New("the file is open read-only")
)
