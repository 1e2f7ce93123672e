//go:build amd64 || arm64

package sandbox

import (
	"io/fs"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Bounds of looking at the disk.
const (
	diskEvery = 500 * time.Millisecond
	diskShare = 10        // a look may take one part in so many of the time
	spared    = 256 << 20 // bytes that a command leaves free on the file system of its workspace, if they were free before
	maxLinked = 1 << 16   // files with several names that are told apart; those beyond count once for each name
)

// diskWatch watches what the files of a workspace take. Files that are deleted while they are open are seen only in what is left free.
type diskWatch struct {
	reached chan struct{} // closed when it is too much
	done    chan struct{}
	ended   sync.WaitGroup
}

func (p *plan) watchDisk() *diskWatch {
	w := &diskWatch{reached: make(chan struct{}), done: make(chan struct{})}
	dirs := []string{p.Home}
	if p.Temp != "" { // else it is in memory
		dirs = append(dirs, p.Temp)
	}
	w.ended.Go(func() { w.watch(dirs, p.Limits.Disk) })
	return w
}

func (w *diskWatch) stop() {
	close(w.done)
	w.ended.Wait()
}

func (w *diskWatch) watch(dirs []string, most int64) {
	var began time.Time
	most, least := max(most, sizeOf(dirs, w.done)), leastFree(freeAt(dirs[0]))
	for pause := diskEvery; ; pause = max(diskEvery, diskShare*time.Since(began)) {
		timer := time.NewTimer(pause)
		select {
		case <-w.done:
			timer.Stop()
			return
		case <-timer.C:
		}
		began = time.Now()
		free, known := freeAt(dirs[0])
		if sizeOf(dirs, w.done) > most || known && free < least {
			close(w.reached)
			return
		}
	}
}

// leastFree is what must be left free, by what is free before a command begins. Where that is less than the reserve others may write too,
// so half of it may go.
func leastFree(free int64, known bool) int64 {
	switch {
	case !known:
		return 0
	case free < spared:
		return free / 2
	}
	return spared
}

// inode is a file, whatever its names.
type inode struct{ dev, ino uint64 }

// sizeOf is what the files below directories take on the disk, in bytes; less if done is closed. Links are not followed, and a file with
// several names counts once.
func sizeOf(dirs []string, done <-chan struct{}) (bytes int64) {
	linked := map[inode]bool{}
	for _, dir := range dirs {
		_ = filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
			select {
			case <-done:
				return fs.SkipAll
			default:
			}
			if err != nil {
				return nil // it is gone, or closed to this user
			}
			if info, err := entry.Info(); err == nil {
				if stat, is := info.Sys().(*syscall.Stat_t); is && !seen(linked, stat) {
					bytes += stat.Blocks * 512
				}
			}
			return nil
		})
	}
	return bytes
}

// seen reports whether a file was met under another name, and remembers it.
func seen(linked map[inode]bool, stat *syscall.Stat_t) bool {
	if stat.Nlink < 2 || stat.Mode&syscall.S_IFMT == syscall.S_IFDIR {
		return false
	}
	id := inode{stat.Dev, stat.Ino}
	if linked[id] {
		return true
	}
	if len(linked) < maxLinked {
		linked[id] = true
	}
	return false
}

// freeAt is what is left on the file system of a directory, in bytes, if that is known.
func freeAt(dir string) (bytes int64, known bool) {
	var stat unix.Statfs_t
	if unix.Statfs(dir, &stat) != nil {
		return 0, false
	}
	return int64(stat.Bavail) * stat.Bsize, true
}
