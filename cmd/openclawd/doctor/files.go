package doctor

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/pronto-lab/openclawd/database"
	"github.com/pronto-lab/openclawd/internal/output"
	"github.com/pronto-lab/openclawd/internal/systemd"
	"github.com/pronto-lab/openclawd/maintenance/backup"
)

// Thresholds for warnings.
const (
	walLargeBytes  = 256 << 20
	logBehindBytes = 1 << 20 // the same as for readiness
	backupOldAfter = 3 * 24 * time.Hour
	proofOldAfter  = 30 * 24 * time.Hour
	diskErrorBytes = 64 << 20
)

// listenOnce binds an address to check whether it is free.
func listenOnce(ctx context.Context, address string) (net.Listener, error) {
	var c net.ListenConfig
	return c.Listen(ctx, "tcp", address)
}

// backupsDir is where backups are expected: the server's directory, else backups beside the database.
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

// checkDirectory checks a directory, or the nearest existing parent.
func (c *checkup) checkDirectory(name, path string) {
	code, at := name+"_directory", path
	for {
		info, err := os.Stat(at)
		if err == nil && !info.IsDir() {
			c.fail(code, at, "remove it, or choose another directory", "the %s directory cannot be created: a file is in its place", name)
			return
		}
		if err == nil {
			break
		}
		parent := filepath.Dir(at)
		if !errors.Is(err, fs.ErrNotExist) || parent == at {
			c.failed(code, at, "give this user access to the directory", err)
			return
		}
		at = parent
	}
	switch ok, known := backup.Writable(at); {
	case known && !ok:
		c.fail(code, at, "make openclawd's user its owner: chown -R "+cmp.Or(c.getenv("USER"), "USER")+" "+at, "not writable by this user")
	case at != path:
		c.ok(code, path, "does not exist yet and can be created")
	default:
		c.ok(code, path, "writable")
	}
}

func (c *checkup) checkDisk() {
	dir := filepath.Dir(c.place.DB)
	free, known := backup.Free(dir)
	var size int64
	if info, err := os.Stat(c.place.DB); err == nil {
		size = info.Size()
	}
	hint := "free disk space: appends fail without it, and a backup needs one and a half times the size of the database"
	switch {
	case !known:
	case free < diskErrorBytes:
		c.fail("disk_low", dir, hint, "%s are free", output.Bytes(free))
	case free < database.DiskLow || free < size+size/2:
		c.warn("disk_low", dir, hint, "%s free, the database has %s", output.Bytes(free), output.Bytes(size))
	default:
		c.ok("disk", dir, "%s are free", output.Bytes(free))
	}
}

func (c *checkup) checkBackups() {
	dir := c.backupsDir()
	list, err := backup.List(dir)
	if err != nil {
		c.failed("backups_unreadable", dir, "give this user read access to the directory", err)
		return
	}
	newest, err := backup.Newest(dir)
	switch {
	case err != nil:
	case newest == nil && len(list) > 0:
		c.warn("backup_unproved", list[0].File, "openclawd backup verify "+list[0].File, "no backup has a valid manifest")
	case newest == nil && absent(c.place.DB):
	case newest == nil:
		c.warn("backup_none", dir, "openclawd backup create makes one; openclawd serve makes one a day", "there is no backup")
	case c.now().Sub(newest.Time) > backupOldAfter:
		c.warn("backup_old", newest.File, "openclawd backup create", "the newest backup is %d days old", int(c.now().Sub(newest.Time).Hours()/24))
	case c.now().Sub(newest.Manifest.VerifiedAt) > proofOldAfter:
		c.warn("backup_unproved", newest.File, "openclawd backup verify "+newest.File, "the newest backup was last verified at %s", output.Time(newest.Manifest.VerifiedAt.UnixMilli()))
	default:
		c.ok("backup", newest.File, "%s, up to event %s, verified at %s", output.Count(int64(len(list)), "backup"), output.Thousands(newest.Seq),
			output.Time(newest.Manifest.VerifiedAt.UnixMilli()))
	}
}

// checkUnits reports settings of installed units under which tools of agents cannot run: the doctor itself runs outside of the unit.
func (c *checkup) checkUnits() {
	for _, file := range []string{"/etc/systemd/system/openclawd.service", filepath.Join(cmp.Or(c.getenv("HOME"), "/"), ".config/systemd/user/openclawd.service")} {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // there is none, or it is not ours to read
		}
		if breaking := systemd.Breaking(string(text)); len(breaking) > 0 {
			c.warn("unit_breaks_tools", file, "print the unit again with openclawd service unit, and systemctl daemon-reload && systemctl restart openclawd",
				"programs of MCP or commands of agents cannot run with %s", strings.Join(breaking, ", "))
			continue
		}
		c.ok("unit", file, "lets tools of agents run")
	}
}

func absent(path string) bool {
	_, err := os.Stat(path)
	return errors.Is(err, fs.ErrNotExist)
}
