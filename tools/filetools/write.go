package filetools

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"runtime"

	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/internal/durable"
	"github.com/pronto-lab/openclawd/tools"
)

func (f *files) write(_ context.Context, call *tools.Call) (tool.Output, error) {
	args, err := tools.Decode[struct {
		Path, Content string
		Append        bool
	}](call)
	if err != nil {
		return tool.Output{}, err
	}
	p, err := f.open(call, true)
	if err != nil {
		return tool.Output{}, err
	}
	defer p.close()
	defer f.alone(p.dir)()
	dir, name, err := p.parent(args.Path, true)
	if err != nil {
		return tool.Output{}, err
	}
	defer dir.close()
	text := []byte(args.Content)
	if args.Append {
		switch before, _, err := dir.content(name); {
		case err == nil:
			text = append(before, text...)
		case !isCode(err, tool.CodeNoFile):
			return tool.Output{}, err
		}
	}
	if err := dir.replace(name, text, usualMode); err != nil {
		return tool.Output{}, err
	}
	return tool.Output{Text: fmt.Sprintf("wrote %d bytes to %s", len(args.Content), path.Join(dir.name, name))}, nil
}

func isCode(err error, code string) bool {
	var e *tool.Error
	return errors.As(err, &e) && e.Code == code
}

// usualMode is the mode of new files.
const usualMode fs.FileMode = 0o644

// replace gives a file its content, as a whole or not at all. It keeps the mode of an earlier file; a new one gets the given mode.
func (f *folder) replace(name string, text []byte, mode fs.FileMode) (err error) {
	switch info, err := f.look(name); {
	case err == nil:
		mode = info.Mode().Perm()
	case !isCode(err, tool.CodeNoFile):
		return err
	}
	if len(text) > maxFile {
		return tooLarge(path.Join(f.name, name), maxFile)
	}
	next := ".openclawd-" + rand.Text() + durable.Unfinished
	file, err := f.root.OpenFile(next, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return f.unopened(name, err)
	}
	_, err = file.Write(text)
	if err = errors.Join(err, file.Chmod(mode), file.Sync(), file.Close()); err == nil {
		err = f.root.Rename(next, name)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("write %s: %w", path.Join(f.name, name), err), f.root.Remove(next))
	}
	return f.sync()
}

// sync brings the names in the folder to disk.
func (f *folder) sync() error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := f.root.Open(".")
	if err != nil {
		return err
	}
	err = d.Sync()
	if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, fs.ErrInvalid) {
		err = nil
	}
	return errors.Join(err, d.Close())
}
