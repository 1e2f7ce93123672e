package workspace

import (
	"io/fs"
	"time"
)

// identity tells whether a file is unchanged since it was read.
type identity struct {
	device, inode uint64
	size          int64
	modified      int64 // ns since 1970
	changed       int64 // likewise, for content or attributes; cannot be set back. 0 if the system does not say
}

// settled is how long after a change a file's times may not reveal another change. Systems count time in steps of
// some milliseconds, network file systems in steps of up to two seconds.
const settled = 2 * time.Second

func identityOf(info fs.FileInfo) identity {
	id := identity{size: info.Size(), modified: info.ModTime().UnixNano()}
	id.fill(info)
	return id
}

// isFresh reports whether the file changed so shortly before now that another change may not show.
func (id identity) isFresh(now time.Time) bool {
	age := now.UnixNano() - max(id.modified, id.changed)
	return age < int64(settled)
}
