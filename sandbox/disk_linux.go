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
	most, least := max(most, sizeOf(dirs, w.done)), min(spared, freeAt(dirs[0]))
	for pause := diskEvery; ; pause = max(diskEvery, diskShare*time.Since(began)) {
		timer := time.NewTimer(pause)
		select {
		case <-w.done:
			timer.Stop()
			return
		case <-timer.C:
		}
		began = time.Now()
		if sizeOf(dirs, w.done) > most || freeAt(dirs[0]) < least {
			close(w.reached)
			return
		}
	}
}

// sizeOf is what the files below directories take on the disk, in bytes; less if done is closed. Links are not followed.
func sizeOf(dirs []string, done <-chan struct{}) (bytes int64) {
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
				if stat, is := info.Sys().(*syscall.Stat_t); is {
					bytes += stat.Blocks * 512
				}
			}
			return nil
		})
	}
	return bytes
}

// freeAt is what is left on the file system of a directory, in bytes; 0 if that is not known.
func freeAt(dir string) int64 {
	var stat unix.Statfs_t
	if unix.Statfs(dir, &stat) != nil {
		return 0
	}
	return int64(stat.Bavail) * stat.Bsize
}
