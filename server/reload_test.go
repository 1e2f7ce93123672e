package server

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/internal/testscale"
	"github.com/pronto-lab/openclawd/server/settings"
)

// heard is a log that a test listens to.
type heard struct {
	slog.Handler
	lines chan string
}

func (h *heard) Handle(_ context.Context, r slog.Record) error {
	line := r.Message
	r.Attrs(func(a slog.Attr) bool {
		line += " " + a.String()
		return true
	})
	select {
	case h.lines <- line:
	default:
		panic("this log has no reader, and a program that waits for it would never end: " + line)
	}
	return nil
}

func (h *heard) Enabled(context.Context, slog.Level) bool { return true }
func (h *heard) WithAttrs([]slog.Attr) slog.Handler       { return h }

// until waits for a line that begins with text, and returns what was logged up to there.
func (h *heard) until(t *testing.T, text string) (lines []string) {
	t.Helper()
	late := time.After(testscale.Patience)
	for {
		select {
		case line := <-h.lines:
			if lines = append(lines, line); strings.HasPrefix(line, text) {
				return lines
			}
		case <-late:
			t.Fatalf("%q was not logged, but\n%s", text, strings.Join(lines, "\n"))
		}
	}
}

// reloading is a program that serves, with a configuration that a test changes.
type reloading struct {
	*Program
	log   *heard
	url   string
	hang  chan os.Signal
	ready <-chan net.Addr
	stop  func() error
}

func startReloading(t *testing.T, files map[string]string, change ...func(*Options)) *reloading {
	t.Helper()
	p, ready := testProgram(t)
	r := &reloading{log: &heard{slog.DiscardHandler, make(chan string, 10_000)}, hang: make(chan os.Signal, 1), ready: ready}
	opts := p.opts
	opts.Logger, opts.Reload = slog.New(r.log), r.hang
	for _, c := range change {
		c(&opts)
	}
	r.Program = New(opts)
	for name, text := range files {
		r.write(t, name, text)
	}
	r.start(t)
	return r
}

// start runs the program until the test ends.
func (r *reloading) start(t *testing.T) {
	t.Helper()
	var api net.Addr
	api, r.stop = starts(t, r.Program, r.ready)
	_, port, err := net.SplitHostPort(api.String())
	if err != nil {
		t.Fatal(err)
	}
	r.url = "http://127.0.0.1:" + port
}

// restart ends the program, changes files, and runs another one on what the first has left.
func (r *reloading) restart(t *testing.T, files map[string]string) {
	t.Helper()
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		r.write(t, name, text)
	}
	r.Program = New(r.opts)
	r.start(t)
}

// write replaces a file as an editor does, at one moment.
func (r *reloading) write(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join(r.opts.StateDir, name)
	if err := errors.Join(os.WriteFile(path+".new", []byte(text), 0o600), os.Rename(path+".new", path)); err != nil {
		t.Fatal(err)
	}
}

// rereads has the files read again and waits for it.
func (r *reloading) rereads(t *testing.T) {
	t.Helper()
	for range 2 { // the second one begins when the first one is over
		r.hang <- syscall.SIGHUP
		r.log.until(t, "reloading configuration on request")
	}
}

// mayWrite asks to change something and returns the status.
func (r *reloading) mayWrite(t *testing.T, token string) int {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodDelete, r.url+"/api/work-sessions/ws_a/category", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		request.Header.Set("X-Task-Monitor-Token", token)
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	return response.StatusCode
}

// applied reads all config.applied events.
func (r *reloading) applied(t *testing.T) []eventstore.Event {
	t.Helper()
	events, err := r.Program.log.ReadStream(t.Context(), coordination.ConfigStream, 0, 100)
	if err != nil {
		t.Fatal(err)
	}
	return events
}

func TestConfigurationIsReloaded(t *testing.T) {
	t.Parallel()
	r := startReloading(t, map[string]string{settings.FileName: `{$include: 'team.json5', taskMonitor: {port: 0}}`,
		"team.json5": `{agents: {list: [{id: 'eden'}]}}`}, func(o *Options) { o.API = "" })
	first := r.configStatus()
	if got := r.mayWrite(t, ""); got != http.StatusOK || first.Hash == "" || first.LoadedAt.IsZero() || first.Error != "" || !first.Found {
		t.Fatalf("%d, %+v", got, first)
	}

	// Another team and a token: both are in force without a restart, and the log records it.
	r.write(t, settings.FileName, `{$include: 'team.json5', taskMonitor: {writeToken: 'hunter2hunter2', port: 4000}}`)
	lines := r.log.until(t, "configuration applied agents=1 hash=")
	lines = append(lines, r.log.until(t, "configuration applied agents=1 hash=")...)
	if !slices.Contains(lines, "settings applied changed=[api writeToken]") {
		t.Errorf("logged %q", lines)
	}
	if none, right := r.mayWrite(t, ""), r.mayWrite(t, "hunter2hunter2"); none != http.StatusUnauthorized || right != http.StatusOK {
		t.Errorf("without the token %d, with it %d", none, right)
	}
	status := r.configStatus()
	if status.Hash == first.Hash || status.Error != "" || !slices.Equal(status.Restart, []string{"taskMonitor.host, taskMonitor.port"}) {
		t.Errorf("%+v", status)
	}
	last := r.applied(t)[1]
	if data := string(last.Data); last.Ver != 2 || !strings.Contains(data, `"settings":{"agents":{"list":[{"id":"eden"}]},"taskMonitor":{"port":4000,"writeToken":"***"}}`) {
		t.Errorf("version %d, %s", last.Ver, data)
	}

	// The tables do not grow with the number of configurations.
	contexts, err := r.contexts(t)
	if err != nil || !strings.Contains(contexts, `"hash":"`+status.Hash) || strings.Contains(contexts, "settings") {
		t.Errorf("%v in %s", err, contexts)
	}

	// An included file is followed too.
	r.write(t, "team.json5", `{agents: {list: [{id: 'eden'}, {id: 'seum'}]}}`)
	r.log.until(t, "configuration applied agents=2 hash=")

	// A token alone takes effect without an event.
	r.write(t, settings.FileName, `{$include: 'team.json5', taskMonitor: {writeToken: 'another-token', port: 4000}}`)
	r.log.until(t, "settings applied changed=[writeToken]")
	r.rereads(t)
	if events := r.applied(t); len(events) != 3 {
		t.Errorf("%d events", len(events))
	}
}

// contexts is what the projections keep of the configuration.
func (r *reloading) contexts(t *testing.T) (all string, err error) {
	t.Helper()
	err = r.Program.log.View(t.Context(), func(tx *sql.Tx) error {
		return tx.QueryRowContext(t.Context(), "SELECT group_concat(context) FROM projections").Scan(&all)
	})
	return all, err
}

func TestBadConfigurationKeepsTheLastGoodOne(t *testing.T) {
	t.Parallel()
	const good = `{agents: {list: [{id: 'eden'}]}, taskMonitor: {writeToken: 'hunter2hunter2'}}`
	r := startReloading(t, map[string]string{settings.FileName: good})
	hash := r.configStatus().Hash
	for _, bad := range []string{`{agents: {list: [`, `{agents: {list: 7}, taskMonitor: {writeToken: 'hunter2hunter2'}}`, `{$include: 'nowhere.json'}`} {
		r.write(t, settings.FileName, bad)
		r.log.until(t, "configuration not applied: the last good one stays in force")
		r.hang <- syscall.SIGHUP // it is read once more; there is no other time to see the same finding
		r.log.until(t, "configuration not applied: the last good one stays in force")
		if s := r.configStatus(); s.Hash != hash || s.Error == "" || s.Errors == 0 || !strings.Contains(s.Error, settings.FileName) {
			t.Errorf("%s: %+v", bad, s)
		}
		if got := r.mayWrite(t, ""); got != http.StatusUnauthorized {
			t.Errorf("%s: a write without token: %d", bad, got)
		}
	}
	if err := os.Remove(filepath.Join(r.opts.StateDir, settings.FileName)); err != nil {
		t.Fatal(err)
	}
	lines := r.log.until(t, "configuration not applied: the last good one stays in force")
	if last := lines[len(lines)-1]; !strings.Contains(last, "the file is gone") || r.configStatus().Found {
		t.Errorf("%q, %+v", last, r.configStatus())
	}
	r.write(t, settings.FileName, good)
	r.log.until(t, "configuration is usable again")
	r.rereads(t)
	if s := r.configStatus(); s.Hash != hash || s.Error != "" || s.Errors != 0 {
		t.Errorf("%+v", s)
	}
	if events := r.applied(t); len(events) != 1 {
		t.Errorf("%d events", len(events))
	}
}

// A file that an editor has half written is not reported; one that stays invalid is.
func TestHalfWrittenConfigurationIsNoFaultYet(t *testing.T) {
	t.Parallel()
	p, _ := testProgram(t)
	path := settings.File(p.opts.StateDir)
	write := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(`{}`)
	if err := p.configure(); err != nil {
		t.Fatal(err)
	}
	write(`{agents: {`)
	if again := p.reload(t.Context(), false); again != settleTime || p.configStatus().Error != "" {
		t.Errorf("at once: %+v, again after %s", p.configStatus(), again)
	}
	if p.config.moved() {
		t.Error("it has moved, though it was not touched")
	}
	if again := p.reload(t.Context(), true); again != 0 || p.configStatus().Error == "" {
		t.Errorf("later: %+v, again after %s", p.configStatus(), again)
	}
	write(`{agents: {}}`)
	if !p.config.moved() {
		t.Error("it has not moved, though it was fixed")
	}
}

func TestSealedWhileTheConfigurationCannotBeRead(t *testing.T) {
	t.Parallel()
	r := startReloading(t, map[string]string{settings.FileName: `{taskMonitor: {writeToken: 'hunter2hunter2'`})
	if got := r.mayWrite(t, ""); got != http.StatusUnauthorized {
		t.Errorf("it is unknown whether there is a token: %d", got)
	}
	r.write(t, settings.FileName, `{agents: {list: [{id: 'eden'}]}}`)
	r.log.until(t, "configuration applied agents=1")
	if got := r.mayWrite(t, ""); got != http.StatusOK {
		t.Errorf("there is none: %d", got)
	}
}

func TestOtherMachinesNeedAToken(t *testing.T) {
	t.Parallel()
	everywhere := func(o *Options) { o.API = "0.0.0.0:0" }
	p, _ := newProgram(t.TempDir())
	everywhere(&p.opts)
	var bad *config.SettingError
	if err := p.Run(t.Context()); !errors.As(err, &bad) || !strings.Contains(bad.Hint(), "TASK_MONITOR_WRITE_TOKEN") {
		t.Errorf("without a token: %v", err)
	}
	if _, err := os.Stat(p.opts.DB); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a database was made: %v", err)
	}

	r := startReloading(t, map[string]string{settings.FileName: `{taskMonitor: {writeToken: 'hunter2hunter2'}}`}, everywhere)
	r.write(t, settings.FileName, `{taskMonitor: {}}`)
	lines := r.log.until(t, "configuration not applied: the last good one stays in force")
	if last := lines[len(lines)-1]; !strings.Contains(last, "a write token is required") {
		t.Errorf("%q", last)
	}
	if none, right := r.mayWrite(t, ""), r.mayWrite(t, "hunter2hunter2"); none != http.StatusUnauthorized || right != http.StatusOK {
		t.Errorf("without the token %d, with it %d", none, right)
	}
}
