package watch

import (
	"slices"
	"syscall"
)

// localTypes are file systems whose changes this machine makes, so that inotify reports all of them: ext, XFS, Btrfs,
// F2FS, ZFS, tmpfs and overlayfs.
var localTypes = []int64{0xef53, 0x58465342, 0x9123683e, 0xf2f52010, 0x2fc12fc1, 0x01021994, 0x794c7630}

// isLocal reports whether a directory is certainly on such a file system.
func isLocal(dir string) bool {
	var is syscall.Statfs_t
	return syscall.Statfs(dir, &is) == nil && slices.Contains(localTypes, int64(is.Type)) //nolint:unconvert // 32 bits on some machines
}
