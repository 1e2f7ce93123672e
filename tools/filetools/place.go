package filetools

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/tools"
	"github.com/pronto-lab/openclawd/workspace"
)

const (
	// maxFile bounds a file that is read or written, in bytes.
	maxFile = 8 << 20
	// maxDepth bounds the directories in a path.
	maxDepth = 64
	maxName  = 255
)

// place is an agent's workspace, opened for one call.
type place struct {
	dir       string
	root      *os.Root
	protected []string
}

// open opens the workspace of a call's agent, and creates it if the call writes. It must be closed.
func (f *files) open(call *tools.Call, create bool) (*place, error) {
	dir := f.opts.Workspace(call.AgentID)
	if dir == "" {
		return nil, &tool.Error{Code: tool.CodeUnavailable, Text: "the agent has no workspace", Hint: "set agents.defaults.workspace"}
	}
	if create {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, fmt.Errorf("create the workspace: %w", err)
		}
	}
	protected := f.opts.Protected()
	if err := workspace.Separate(dir, protected); err != nil {
		return nil, &tool.Error{Code: tool.CodeUnavailable, Text: "the workspace holds files of openclawd itself, so its files cannot be used: " + err.Error(),
			Hint: "give the agent a directory of its own in workspace"}
	}
	root, err := os.OpenRoot(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, failure(tool.CodeNoFile, "", "the workspace is empty", "write a file first")
	}
	if err != nil {
		return nil, fmt.Errorf("open the workspace: %w", err)
	}
	return &place{dir: dir, root: root, protected: protected}, nil
}

func (p *place) close() { _ = p.root.Close() }

// failure is an error that a model can correct.
func failure(code, name, text, hint string) *tool.Error {
	if name != "" {
		text = coordination.Mask(fmt.Sprintf("%.300q", name)) + " " + text
	}
	return &tool.Error{Code: code, Field: "/path", Text: text, Hint: hint}
}

// steps splits a path that a model has given into names below the workspace; none is the workspace itself.
func (p *place) steps(given string) ([]string, error) {
	name := filepath.ToSlash(given)
	if filepath.IsAbs(given) {
		below, inside := belowOf(p.dir, given)
		if real, err := filepath.EvalSymlinks(p.dir); !inside && err == nil {
			below, inside = belowOf(real, given)
		}
		if !inside {
			return nil, outside(given)
		}
		name = filepath.ToSlash(below)
	}
	name = path.Clean(name)
	switch {
	case name == ".":
		return nil, nil
	case name == "..", strings.HasPrefix(name, "../"), strings.HasPrefix(name, "~"):
		return nil, outside(given)
	case strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return nil, failure(tool.CodeBadPath, given, "has control characters", "give a path without them")
	}
	all := strings.Split(name, "/")
	if len(all) > maxDepth {
		return nil, failure(tool.CodeBadPath, given, fmt.Sprintf("has more than %d levels", maxDepth), "give a shorter path")
	}
	for _, one := range all {
		if len(one) > maxName || !filepath.IsLocal(one) {
			return nil, failure(tool.CodeBadPath, given, "is not a valid path", "give a path relative to the workspace")
		}
	}
	return all, nil
}

func belowOf(dir, given string) (string, bool) {
	name, err := filepath.Rel(dir, given)
	return name, err == nil && name != ".." && !strings.HasPrefix(name, ".."+string(filepath.Separator))
}

func outside(given string) error {
	return failure(tool.CodeOutside, given, "is outside of the workspace", "give a path in the workspace, relative to it")
}

// folder is a directory of a workspace that was reached without a link. It must be closed, unless it is the workspace itself.
type folder struct {
	*place
	root *os.Root
	name string // relative to the workspace; "" for itself
}

func (f *folder) close() {
	if f.root != f.place.root {
		_ = f.root.Close()
	}
}

// parent opens the directory of a file and returns the file's name in it.
func (p *place) parent(given string, create bool) (*folder, string, error) {
	steps, err := p.steps(given)
	if err != nil {
		return nil, "", err
	}
	if len(steps) == 0 {
		return nil, "", failure(tool.CodeNotFile, given, "is the workspace itself", "give the path of a file")
	}
	f, err := p.down(steps[:len(steps)-1], create)
	return f, steps[len(steps)-1], err
}

// directory opens a directory.
func (p *place) directory(given string) (*folder, error) {
	steps, err := p.steps(given)
	if err != nil {
		return nil, err
	}
	return p.down(steps, false)
}

func (p *place) down(steps []string, create bool) (*folder, error) {
	at := &folder{place: p, root: p.root}
	for _, name := range steps {
		next, err := at.sub(name, create)
		at.close()
		if err != nil {
			return nil, err
		}
		at = next
	}
	return at, nil
}

// sub opens a directory in the folder.
func (f *folder) sub(name string, create bool) (*folder, error) {
	at := path.Join(f.name, name)
	seen, err := f.root.Lstat(name)
	if create && errors.Is(err, fs.ErrNotExist) {
		if err := f.root.Mkdir(name, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, f.unopened(name, err)
		}
		seen, err = f.root.Lstat(name)
	}
	switch {
	case err != nil:
		return nil, f.unopened(name, err)
	case seen.Mode()&fs.ModeSymlink != 0:
		return nil, linked(at)
	case !seen.IsDir():
		return nil, failure(tool.CodeNotFile, at, "is not a directory", "list the directory above it")
	}
	root, err := f.root.OpenRoot(name)
	if err != nil {
		return nil, f.unopened(name, err)
	}
	opened, err := root.Stat(".")
	if err != nil || !os.SameFile(seen, opened) { // OpenRoot follows links: this one was created after the look
		_ = root.Close()
		return nil, linked(at)
	}
	return &folder{place: f.place, root: root, name: at}, nil
}

func linked(name string) error {
	return failure(tool.CodeOutside, name, "is a link or was replaced meanwhile; links are not followed", "give the path of the file itself")
}

// look returns what lies at a name: a regular file within the size limit that is not the program's own.
func (f *folder) look(name string) (fs.FileInfo, error) { return f.lookWithin(name, maxFile) }

// lookWithin is look with a size limit of its own, in bytes.
func (f *folder) lookWithin(name string, most int64) (fs.FileInfo, error) {
	at := path.Join(f.name, name)
	info, err := f.root.Lstat(name)
	switch {
	case err != nil:
		return nil, f.unopened(name, err)
	case info.Mode()&fs.ModeSymlink != 0:
		return nil, linked(at)
	case info.IsDir():
		return nil, failure(tool.CodeNotFile, at, "is a directory", "use ls")
	case !info.Mode().IsRegular():
		return nil, failure(tool.CodeNotFile, at, "is neither a file nor a directory", "give the path of a file")
	case workspace.IsAnyOf(info, f.protected): // before it is opened: closing the database would end the locks on it
		return nil, outside(at)
	case info.Size() > most:
		return nil, tooLarge(at, most)
	}
	return info, nil
}

func tooLarge(name string, most int64) error {
	return failure(tool.CodeTooLarge, name, fmt.Sprintf("is larger than %d MiB", most>>20), "use a smaller file")
}

// content reads a file.
func (f *folder) content(name string) ([]byte, fs.FileInfo, error) {
	return f.contentWithin(name, maxFile)
}

// contentWithin is content with a size limit of its own, in bytes.
func (f *folder) contentWithin(name string, most int64) ([]byte, fs.FileInfo, error) {
	seen, err := f.lookWithin(name, most)
	if err != nil {
		return nil, nil, err
	}
	at := path.Join(f.name, name)
	file, err := f.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // do not block on a pipe put there meanwhile
	if err != nil {
		return nil, nil, f.unopened(name, err)
	}
	defer file.Close()
	opened, err := file.Stat()
	if err != nil || !os.SameFile(seen, opened) {
		return nil, nil, linked(at)
	}
	text, err := io.ReadAll(io.LimitReader(file, most+1))
	switch {
	case err != nil:
		return nil, nil, fmt.Errorf("read %s: %w", at, err)
	case int64(len(text)) > most:
		return nil, nil, tooLarge(at, most)
	}
	return text, opened, nil
}

// unopened says why something could not be opened or made.
func (f *folder) unopened(name string, err error) error {
	at := path.Join(f.name, name)
	var system syscall.Errno
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return failure(tool.CodeNoFile, at, "does not exist", "list the directory to see what is there")
	case errors.Is(err, fs.ErrPermission):
		return failure(tool.CodeNotFile, at, "may not be opened", "use another file")
	case !errors.As(err, &system), system == syscall.ELOOP, system == syscall.ENOTDIR:
		return linked(at)
	}
	return fmt.Errorf("open %s: %w", at, err)
}
