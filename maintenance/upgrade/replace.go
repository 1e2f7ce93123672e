package upgrade

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/pronto-lab/openclawd/internal/buildinfo"
	"github.com/pronto-lab/openclawd/internal/durable"
)

// Previous is the suffix of the program that was replaced.
const Previous = ".previous"

const (
	versionTime  = 10 * time.Second // for a program to say its version
	maxVersion   = 64 << 10         // bytes of what it says
	programMode  = 0o755
	anyExecution = 0o111
)

// Replaced is the result of Replace.
type Replaced struct {
	Program  string    `json:"program"`  // the file that was replaced
	Previous string    `json:"previous"` // where the old one is now
	Versions [2]string `json:"versions"` // old, new
}

// Replace puts a new program in place of an old one, which is kept beside it. At any moment, also after a power cut, one of both has the name. A
// file that does not say that it is openclawd for this platform is refused.
func Replace(ctx context.Context, program, with string) (*Replaced, error) {
	program, err := filepath.EvalSymlinks(program)
	if err != nil {
		return nil, err
	}
	after, err := versionOf(ctx, with)
	if err != nil {
		return nil, &NotReadyError{"not_openclawd", fmt.Sprintf("%s is not an openclawd that runs here: %v", with, err), "name a program of this platform, from an archive of a release"}
	}
	kept := program + Previous
	if err := keep(program, kept); err != nil {
		return nil, notWritable(program, err)
	}
	if err := copyProgram(with, program); err != nil {
		return nil, notWritable(program, err)
	}
	return &Replaced{Program: program, Previous: kept, Versions: [2]string{buildinfo.Read().Version, after.Version}}, nil
}

// versionOf asks a program for its version.
func versionOf(ctx context.Context, file string) (*buildinfo.Info, error) {
	path, err := filepath.Abs(file)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, errors.New("not a regular file")
	case info.Mode().Perm()&anyExecution == 0:
		return nil, errors.New("not executable")
	}
	ctx, cancel := context.WithTimeout(ctx, versionTime)
	defer cancel()
	var said bytes.Buffer
	cmd := exec.CommandContext(ctx, path, "version", "--json")
	cmd.Stdout = &limited{w: &said, left: maxVersion}
	if err := cmd.Run(); err != nil {
		return nil, err
	}
	var version buildinfo.Info
	if err := json.Unmarshal(said.Bytes(), &version); err != nil || version.Version == "" || version.Go == "" {
		return nil, errors.New("it does not say its version")
	}
	return &version, nil
}

// limited passes on as many bytes as are left, and fails then.
type limited struct {
	w    io.Writer
	left int
}

func (l *limited) Write(p []byte) (int, error) {
	if len(p) > l.left {
		return 0, errors.New("the answer is too long")
	}
	l.left -= len(p)
	return l.w.Write(p)
}

// keep gives a file a second name, in place of what had it.
func keep(program, kept string) error {
	if err := os.Remove(kept); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Link(program, kept); err == nil {
		return nil
	}
	return copyProgram(program, kept) // a file system without links
}

func copyProgram(from, to string) error {
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer source.Close()
	return durable.Replace(to, programMode, func(w io.Writer) error {
		_, err := io.Copy(w, source)
		return err
	})
}

func notWritable(program string, err error) error {
	return &NotReadyError{"program_not_writable", fmt.Sprintf("replace %s: %v", program, err),
		"run this as a user that may write there; a package of the system is upgraded by its package manager"}
}
