package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/internal/subprocess"
	"github.com/pronto-lab/openclawd/sandbox"
)

const (
	// maxMessage bounds one message of a server, in bytes.
	maxMessage = 4 << 20
	// stopTime is how long a program may take to end by itself once its input is closed, and again after it was asked to.
	stopTime = 2 * time.Second
)

// process is the program of a server, in a process group of its own.
type process struct {
	cmd    *exec.Cmd
	guard  *sandbox.Guard
	in     io.WriteCloser
	out    *limited
	errors *tail
	gone   chan struct{} // closed when the program has ended
	err    error         // how; set before
}

// startProcess starts the program of a server. ended is called with the reason when it sends too much.
func startProcess(s *server, ended context.CancelCauseFunc) (*process, error) {
	c := &s.conf
	environment := environmentOf(s)
	dir := directory(c, s.opts.Getenv("HOME"))
	path, err := programPath(c.Command, dir, s.opts.Getenv("PATH"))
	if err != nil {
		return nil, err
	}
	cmd := &exec.Cmd{Path: path, Args: append([]string{c.Command}, c.Args...), Env: environment, Dir: dir, WaitDelay: stopTime}
	subprocess.OwnGroup(cmd)
	guard, err := sandbox.NewGuard(cmd)
	if err != nil {
		return nil, err
	}
	p := &process{cmd: cmd, guard: guard, errors: &tail{hide: s.hide}, gone: make(chan struct{})}
	cmd.Stderr = p.errors
	if p.in, err = cmd.StdinPipe(); err != nil {
		guard.Release()
		return nil, err
	}
	read, write, err := os.Pipe() // not StdoutPipe, which Wait closes before all is read
	if err != nil {
		guard.Release()
		return nil, err
	}
	cmd.Stdout = write
	err = guard.Start()
	write.Close()
	if err != nil {
		read.Close()
		return nil, fmt.Errorf("start %s: %w", c.Command, errors.Unwrap(err))
	}
	p.out = &limited{ReadCloser: read, flooded: func() { ended(errFlood) }}
	go func() {
		p.err = cmd.Wait()
		guard.Release()
		_ = subprocess.KillGroup(cmd) // what it has left behind, if anything
		close(p.gone)
	}()
	return p, nil
}

// programPath finds a program. One that is named with its directory is looked for from where it runs.
func programPath(command, from, path string) (string, error) {
	if strings.ContainsRune(command, filepath.Separator) {
		if !filepath.IsAbs(command) {
			command = filepath.Join(from, command)
		}
		if _, err := os.Stat(command); err != nil {
			return "", fmt.Errorf("program %s does not exist", command)
		}
		return filepath.Abs(command)
	}
	for _, dir := range filepath.SplitList(path) {
		full := filepath.Join(cmp.Or(dir, "."), command)
		if info, err := os.Stat(full); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return full, nil
		}
	}
	return "", fmt.Errorf("program %s is not in PATH", command)
}

// environmentOf is what the program gets: the variables of its configuration, and of this program those without secrets.
func environmentOf(s *server) []string {
	var all []string
	for _, name := range []string{"HOME", "LANG", "LC_ALL", "LOGNAME", "PATH", "SHELL", "SYSTEMROOT", "TEMP", "TERM", "TMP", "TMPDIR", "TZ", "USER", "USERPROFILE",
		"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy", "SSL_CERT_DIR", "SSL_CERT_FILE", "XDG_CACHE_HOME"} {
		if value := s.opts.Getenv(name); value != "" {
			all = append(all, name+"="+value)
		}
	}
	for _, v := range s.conf.Env {
		all = append(all, v.Name+"="+v.Value.Reveal())
	}
	return all
}

// directory is where the program of a server runs.
func directory(c *config.MCPServer, home string) string {
	dir := cmp.Or(c.Dir, home)
	if rest, is := strings.CutPrefix(dir, "~"); is && (rest == "" || rest[0] == '/') {
		dir = home + rest
	}
	return dir
}

// stop ends the program: by closing its input, by asking it, by force.
func (p *process) stop() {
	p.in.Close()
	for _, next := range []func(){
		func() { _ = subprocess.TerminateGroup(p.cmd) }, // an error says that it has ended
		p.guard.Release,
		func() { _ = subprocess.KillGroup(p.cmd) },
	} {
		if p.ends(stopTime) {
			break
		}
		next()
	}
	<-p.gone
	p.out.Close()
}

func (p *process) ends(within time.Duration) bool {
	timer := time.NewTimer(within)
	defer timer.Stop()
	select {
	case <-p.gone:
		return true
	case <-timer.C:
		return false
	}
}

// lost is why a connection was lost: how the program ended, if it did.
func (p *process) lost(err error) error {
	within := 100 * time.Millisecond
	if p.out.over.Load() { // it usually ends now
		within = stopTime
	}
	switch {
	case !p.ends(within):
	case p.err != nil:
		err = fmt.Errorf("its program ended: %w", p.err)
	default:
		err = errors.New("its program ended")
	}
	return p.explain(err)
}

// explain adds to an error what the program wrote last.
func (p *process) explain(err error) error {
	if said := p.errors.text(); said != "" {
		err = fmt.Errorf("%w; it wrote last: %s", err, said)
	}
	return err
}

// tail keeps the end of what a program writes.
type tail struct {
	hide *secrets
	mu   sync.Mutex
	kept []byte
}

// maxTail is how many bytes a tail shows. It keeps more, since a cut secret would not be recognized.
const maxTail = 2 << 10

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	const most = 4 * maxTail
	last := b[max(len(b)-most, 0):]
	t.kept = append(t.kept, last...)
	t.kept = append(t.kept[:0], t.kept[max(len(t.kept)-most, 0):]...)
	return len(b), nil
}

// text is the last lines, as one.
func (t *tail) text() string { return strings.Join(strings.Fields(t.end()), " ") }

// lines are the last lines that are not blank. The last one may be incomplete, and begin with a part of a secret: it is left out unless the
// program has ended.
func (t *tail) lines(ended bool) (lines []string) {
	text := t.end()
	if !ended {
		text = text[:strings.LastIndexByte(text, '\n')+1]
	}
	for line := range strings.Lines(text) {
		if line = strings.TrimRightFunc(line, unicode.IsSpace); line != "" {
			lines = append(lines, config.Shown(line))
		}
	}
	return lines
}

// end is the last maxTail bytes, without secrets.
func (t *tail) end() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := t.hide.Replace(string(t.kept))
	return strings.ToValidUTF8(text[max(len(text)-maxTail, 0):], "\uFFFD")
}

var errFlood = errors.New("it sent too much")

// limited stops reading from a server that sends too much.
type limited struct {
	io.ReadCloser
	flooded func()
	over    atomic.Bool // there is no more to read

	since time.Time
	bytes int
}

// A server may send so many bytes in so much time.
const (
	floodBytes = 64 << 20
	floodTime  = 10 * time.Second
)

func (l *limited) Read(b []byte) (int, error) {
	if now := time.Now(); now.Sub(l.since) > floodTime {
		l.since, l.bytes = now, 0
	}
	n, err := l.ReadCloser.Read(b)
	if l.bytes += n; l.bytes > floodBytes {
		l.flooded()
		return 0, errFlood
	}
	if err != nil {
		l.over.Store(true)
	}
	return n, err
}
