package doctor

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/pronto-lab/openclawd/cmd/openclawd/backup"
	"github.com/pronto-lab/openclawd/cmd/openclawd/database"
	"github.com/pronto-lab/openclawd/cmd/openclawd/output"
)

// Bounds beyond which something is worth a warning.
const (
	walLargeBytes  = 256 << 20
	logBehindBytes = 1 << 20 // as for readiness
	backupOldAfter = 3 * 24 * time.Hour
	proofOldAfter  = 30 * 24 * time.Hour
	diskErrorBytes = 64 << 20
)

// listenOnce binds an address, to see whether it is free.
func listenOnce(ctx context.Context, address string) (net.Listener, error) {
	var c net.ListenConfig
	return c.Listen(ctx, "tcp", address)
}

// backupsDir is where backups are expected: where the server makes them, else beside the database.
func (c *checkup) backupsDir() string {
	if c.server != nil && c.server.Backup != nil {
		return c.server.Backup.Dir
	}
	return database.BackupsDir(c.place.DB)
}

func (c *checkup) checkDirectories() {
	for _, dir := range []struct{ name, path string }{
		{"state", c.place.StateDir}, {"database", filepath.Dir(c.place.DB)}, {"backup", c.backupsDir()},
	} {
		c.checkDirectory(dir.name, dir.path)
	}
	c.checkDisk()
}

// checkDirectory looks at a directory, or at the one in which it can be made.
func (c *checkup) checkDirectory(name, path string) {
	code, at := name+"_directory", path
	for {
		info, err := os.Stat(at)
		if err == nil && !info.IsDir() {
			c.fail(code, at, "remove it, or name another directory", "the %s directory cannot be there: this is a file", name)
			return
		}
		if err == nil {
			break
		}
		parent := filepath.Dir(at)
		if !errors.Is(err, fs.ErrNotExist) || parent == at {
			c.failed(code, at, "let this user into the directory", err)
			return
		}
		at = parent
	}
	switch ok, known := backup.Writable(at); {
	case known && !ok:
		c.fail(code, at, "give it to the user that runs openclawd: chown -R "+cmp.Or(c.getenv("USER"), "USER")+" "+at, "this user may not write here")
	case at != path:
		c.ok(code, path, "it is not there yet and can be made")
	default:
		c.ok(code, path, "it can be written")
	}
}

func (c *checkup) checkDisk() {
	dir := filepath.Dir(c.place.DB)
	free, known := backup.Free(dir)
	var size int64
	if info, err := os.Stat(c.place.DB); err == nil {
		size = info.Size()
	}
	mend := "free space: appends fail when there is none, and a backup needs one and a half times the size of the database"
	switch {
	case !known:
	case free < diskErrorBytes:
		c.fail("disk_low", dir, mend, "%s are free", output.Bytes(free))
	case free < database.DiskLow || free < size+size/2:
		c.warn("disk_low", dir, mend, "%s are free, the database has %s", output.Bytes(free), output.Bytes(size))
	default:
		c.ok("disk", dir, "%s are free", output.Bytes(free))
	}
}

func (c *checkup) checkBackups() {
	dir := c.backupsDir()
	list, err := backup.List(dir)
	if err != nil {
		c.failed("backups_unreadable", dir, "let this user read the directory", err)
		return
	}
	newest, err := backup.Newest(dir)
	switch {
	case err != nil:
	case newest == nil && len(list) > 0:
		c.warn("backup_unproved", list[0].File, "openclawd backup verify "+list[0].File, "no backup has a manifest of its own")
	case newest == nil:
		c.warn("backup_none", dir, "openclawd backup create makes one; openclawd serve makes one a day", "there is no backup")
	case c.now().Sub(newest.Time) > backupOldAfter:
		c.warn("backup_old", newest.File, "openclawd backup create", "the newest backup is %d days old", int(c.now().Sub(newest.Time).Hours()/24))
	case c.now().Sub(newest.Manifest.VerifiedAt) > proofOldAfter:
		c.warn("backup_unproved", newest.File, "openclawd backup verify "+newest.File, "the newest backup was last proved at %s", output.Time(newest.Manifest.VerifiedAt.UnixMilli()))
	default:
		c.ok("backup", newest.File, "%s, up to event %s, proved at %s", output.Count(int64(len(list)), "backup"), output.Thousands(newest.Seq),
			output.Time(newest.Manifest.VerifiedAt.UnixMilli()))
	}
}
