package upgrade

import (
	"bytes"
	"context"
	"crypto/sha256"
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
	"github.com/pronto-lab/openclawd/internal/systemd"
)

// Suffixes of programs beside the one that has the name.
const (
	Previous = ".previous" // the one that was replaced
	Newer    = ".newer"    // the one that replaced it, after going back
)

const (
	versionTime  = 10 * time.Second // for a program to say its version
	maxVersion   = 64 << 10         // bytes of what it says
	programMode  = 0o755
	anyExecution = 0o111
)

// Replaced is the result of Replace.
type Replaced struct {
	Program   string    `json:"program"`             // the file that was replaced
	Previous  string    `json:"previous,omitempty"`  // where an older one is now
	Versions  [2]string `json:"versions"`            // old, new
	Unchanged bool      `json:"unchanged,omitempty"` // it was that program already
}

// Back lists the commands that give the older program its name again, and keep the newer one, which alone may read what it has written.
func (r *Replaced) Back() []string {
	if r.Previous == "" {
		return nil
	}
	program := systemd.ShellQuote(r.Program)
	return []string{"mv " + program + " " + systemd.ShellQuote(r.Program+Newer), "mv " + systemd.ShellQuote(r.Previous) + " " + program}
}

// Replace puts a new program in place of an old one, which is kept beside it. At any moment, also after a power cut, one of both has the name. A
// file that does not say that it is openclawd for this platform is refused. The program that is there already replaces nothing, and one of the
// same version leaves the kept one as it is: going back must lead to an older version, however often the same one is installed.
func Replace(ctx context.Context, program, with string) (*Replaced, error) {
	program, err := filepath.EvalSymlinks(program)
	if err != nil {
		return nil, err
	}
	after, err := versionOf(ctx, with)
	if err != nil {
		return nil, &NotReadyError{"not_openclawd", fmt.Sprintf("%s is not an openclawd that runs here: %v", with, err), "name a program of this platform, from an archive of a release"}
	}
	before, err := versionOf(ctx, program)
	if err != nil {
		return nil, fmt.Errorf("ask %s for its version: %w", program, err)
	}
	same, err := sameContent(program, with)
	if err != nil {
		return nil, err
	}
	done := &Replaced{Program: program, Previous: program + Previous, Versions: [2]string{before.Version, after.Version}, Unchanged: same}
	_, err = os.Lstat(done.Previous)
	kept := err == nil
	if !same {
		if !kept || before.Version != after.Version || before.Revision != after.Revision {
			if err := keep(program, done.Previous); err != nil {
				return nil, notWritable(program, err)
			}
			kept = true
		}
		if err := copyProgram(with, program); err != nil {
			return nil, notWritable(program, err)
		}
	}
	if !kept {
		done.Previous = ""
	}
	return done, nil
}

// sameContent reports whether two files hold the same bytes.
func sameContent(one, other string) (bool, error) {
	a, err := digest(one)
	if err != nil {
		return false, err
	}
	b, err := digest(other)
	return a == b, err
}

func digest(file string) (sum [sha256.Size]byte, err error) {
	f, err := os.Open(file)
	if err != nil {
		return sum, err
	}
	defer f.Close()
	h := sha256.New()
	_, err = io.Copy(h, f)
	return [sha256.Size]byte(h.Sum(nil)), err
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
