package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
)

// MaxWriteBytes is the largest content that Write accepts.
const MaxWriteBytes = 1 << 20

// New files and directories get these permissions, less the umask. A replaced file keeps its own.
const (
	fileMode = 0o644
	dirMode  = 0o755
)

// Write puts content into a file below an agent's workspace, creating directories as needed, and returns the file's
// normalized path. Readers see the old content or the new, and acknowledged content is synced to disk.
//
// Backslashes are taken as slashes. A path that leads elsewhere, over a link, or to something that is not a regular
// file is a *RefusedError.
func (d *Dir) Write(name string, content []byte) (written string, err error) {
	written, names, err := writable(name)
	if err != nil {
		return "", err
	}
	if len(content) > MaxWriteBytes {
		return "", &RefusedError{Path: written, Reason: ReasonSize}
	}
	at, err := d.open()
	if err != nil {
		return "", err
	}
	defer func() { at.close() }()
	last := len(names) - 1
	for _, name := range names[:last] {
		if at.isKept(name) {
			return "", at.refuse(name, ReasonOurs)
		}
		next, err := at.make(name)
		if err != nil {
			return "", err
		}
		at.close()
		at = next
	}
	if at.isKept(names[last]) {
		return "", at.refuse(names[last], ReasonOurs)
	}
	return written, at.replace(names[last], content, d.temporaryName)
}

// temporaryName returns a new name each time. A file of an earlier process with the same id may exist already.
func (d *Dir) temporaryName() string {
	return fmt.Sprintf(".openclawd-%d-%d.tmp", os.Getpid(), d.writes.Add(1))
}

// writable parses a path to write to: an agent's workspace and at least one name below it.
func writable(name string) (clean string, names []string, err error) {
	slashed := strings.ReplaceAll(name, `\`, "/")
	refuse := &RefusedError{Path: name, Reason: ReasonName}
	if len(name) > maxPathBytes || strings.HasSuffix(slashed, "/") {
		return "", nil, refuse
	}
	for part := range strings.SplitSeq(slashed, "/") {
		if part == ".." {
			return "", nil, refuse
		}
	}
	clean = path.Clean(slashed)
	names = strings.Split(clean, "/")
	agent, ok := strings.CutPrefix(names[0], prefix)
	if !ok || !isAgent(agent) || len(names) < 2 || len(names) > maxPathDepth {
		return "", nil, refuse
	}
	for _, part := range names {
		if !isName(part) {
			return "", nil, refuse
		}
	}
	return clean, names, nil
}

// make is sub, and creates the directory if missing.
func (f *folder) make(name string) (*folder, error) {
	next, err := f.sub(name)
	if !isMissing(err) {
		return next, err
	}
	if err := f.root.Mkdir(name, dirMode); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("make %s: %w", f.at(name), cause(err))
	}
	if err := f.sync(); err != nil {
		return nil, err
	}
	return f.sub(name)
}

// replace writes a file by renaming a new one over it.
func (f *folder) replace(name string, content []byte, temporaryName func() string) (err error) {
	mode := fs.FileMode(fileMode)
	info, err := f.stat(name)
	switch {
	case isMissing(err):
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return f.refuse(name, ReasonSpecial)
	default:
		mode = info.Mode().Perm()
	}
	file, temporary, err := f.create(temporaryName)
	if err != nil {
		return fmt.Errorf("create a file in %s: %w", f.path, cause(err))
	}
	defer func() {
		if err != nil {
			_ = f.root.Remove(temporary)
		}
	}()
	_, err = file.Write(content)
	if info != nil {
		err = errors.Join(err, file.Chmod(mode))
	}
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return fmt.Errorf("write %s: %w", f.at(name), err)
	}
	if err = f.root.Rename(temporary, name); err != nil {
		return fmt.Errorf("replace %s: %w", f.at(name), err)
	}
	return f.sync()
}

// create creates a new file.
func (f *folder) create(nextName func() string) (file *os.File, name string, err error) {
	const tries = 1_000
	for range tries {
		name = nextName()
		file, err = f.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fileMode)
		if !errors.Is(err, fs.ErrExist) {
			break
		}
	}
	return file, name, err
}

// sync syncs the folder's names to disk.
func (f *folder) sync() error {
	dir, err := f.root.Open(".")
	if err != nil {
		return fmt.Errorf("sync %s: %w", f.path, cause(err))
	}
	if err := errors.Join(dir.Sync(), dir.Close()); err != nil {
		return fmt.Errorf("sync %s: %w", f.path, cause(err))
	}
	return nil
}
