package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/internal/testscale"
	"github.com/pronto-lab/openclawd/mcp"
	"github.com/pronto-lab/openclawd/mcp/mcptest"
	"github.com/pronto-lab/openclawd/sandbox"
	"github.com/pronto-lab/openclawd/tools"
)

func TestMain(m *testing.M) {
	sandbox.Main()
	mcptest.Main()
	goleak.VerifyTestMain(m, // the library keeps sessions of its test server that no one closes
		goleak.IgnoreTopFunction("github.com/modelcontextprotocol/go-sdk/mcp.(*streamableServerConn).Read"))
}

// secret is a value of the configuration that must be shown nowhere.
const secret = "sesame-open-please"

// fixture is a team with MCP servers.
type fixture struct {
	*mcp.Servers
	t       *testing.T
	conf    atomic.Pointer[config.Config]
	tools   *tools.Registry
	logged  *logged
	effects string
	grants  string   // the directory of what people have granted
	outcome sync.Map // by tool's server: the last one
}

type logged struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *logged) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// plain makes every call and records nothing: what is recorded is tested in tools/effects.
type plain struct{}

func (plain) Perform(ctx context.Context, _ *tools.Call, _ *tools.Tool, do func(context.Context) (tool.Output, error)) (tool.Output, error) {
	out, err := do(ctx)
	if unknown := (*tools.UnknownOutcomeError)(nil); errors.As(err, &unknown) {
		return tools.Refuse(map[string]string{"code": tool.CodeOutcomeUnknown, "reason": unknown.Reason, "error": unknown.Err.Error()})
	}
	return out, err
}

// server is a server of the configuration: this test binary in a mode.
func (h *fixture) server(mode, more string) string {
	return fmt.Sprintf(`{command: %q, args: ['-test.run=^$'], env: {%s: %q, %s: %q, SECRET_KEY: %q}, %s}`, os.Args[0], mcptest.Env, mode,
		mcptest.EnvEffects, h.effects, secret, more)
}

func (h *fixture) configure(text string) {
	h.t.Helper()
	path := filepath.Join(h.t.TempDir(), "openclaw.json")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		h.t.Fatal(err)
	}
	c, findings := config.Load(path, func(string) string { return "" })
	if err := findings.Err(); err != nil {
		h.t.Fatal(err)
	}
	h.conf.Store(c)
}

// setup makes a team; servers are its mcp.servers by fixture.server.
func setup(t *testing.T, servers func(h *fixture) string) *fixture {
	t.Helper()
	h := &fixture{t: t, logged: &logged{}, effects: filepath.Join(t.TempDir(), "effects"), grants: t.TempDir()}
	h.configure(`{agents: {entries: {eden: {}, seum: {tools: {deny: ['bundle-mcp']}}}}, mcp: {servers: {` + servers(h) + `}}}`)
	logger := slog.New(slog.NewTextHandler(h.logged, nil))
	h.Servers = mcp.New(mcp.Options{Config: h.conf.Load, Logger: logger, Getenv: os.Getenv, Version: "1", Grants: h.grants,
		Called: func(server string, outcome mcp.Outcome, _ time.Duration) { h.outcome.Store(server, outcome) }})
	var err error
	h.tools, err = tools.New(tools.Options{Config: h.conf.Load, Logger: logger, Sources: []tools.Source{h.Servers}, Journal: plain{}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		h.Close()
		if text := h.logged.String(); strings.Contains(text, secret) {
			t.Errorf("a secret is in the log:\n%s", text)
		}
	})
	return h
}

func eden() tool.Caller {
	return tool.Caller{Entry: tool.ByRun, AgentID: "eden", SessionKey: "agent:eden:main"}
}

func (h *fixture) call(name, args string) (tool.Output, error) {
	h.t.Helper()
	ctx, stop := context.WithTimeout(h.t.Context(), testscale.Patience)
	defer stop()
	return h.tools.Call(ctx, eden(), name, json.RawMessage(args))
}

// says checks what a call answers.
func (h *fixture) says(name, args, want string) {
	h.t.Helper()
	if out, err := h.call(name, args); err != nil || out.Text != want || out.IsError {
		h.t.Errorf("%s: %+v, %v, want %q", name, out, err, want)
	}
}

// unknown checks that the outcome of a call is unknown.
func (h *fixture) unknown(name, args, reason string) string {
	h.t.Helper()
	out, err := h.call(name, args)
	var said struct{ Code, Reason, Error string }
	if json.Unmarshal(out.Details, &said) != nil || err != nil || said.Code != tool.CodeOutcomeUnknown || said.Reason != reason {
		h.t.Errorf("%s: %+v, %v, want unknown: %s", name, out, err, reason)
	}
	return said.Error
}

// unavailable checks that a call was not made.
func (h *fixture) unavailable(name, args string) {
	h.t.Helper()
	_, err := h.call(name, args)
	if refused, is := errors.AsType[*tool.Error](err); !is || refused.Code != tool.CodeUnavailable || refused.Hint == "" {
		h.t.Errorf("%s: %v, want unavailable", name, err)
	}
}

func (h *fixture) offered(c tool.Caller) (names []string) {
	h.tools.Await(h.t.Context(), c)
	for _, s := range h.tools.Offer(c) {
		names = append(names, s.Name)
	}
	return names
}

func (h *fixture) state(name string) mcp.State {
	for _, s := range h.States() {
		if s.Name == name {
			return s
		}
	}
	return mcp.State{}
}

// until waits for a condition that comes without an event.
func (h *fixture) until(what string, is func() bool) {
	h.t.Helper()
	late, again := time.After(testscale.Patience), time.NewTicker(5*time.Millisecond)
	defer again.Stop()
	for !is() {
		select {
		case <-again.C:
		case <-late:
			h.t.Fatalf("not in time: %s; %+v", what, h.States())
		}
	}
}

// A server is started when it is needed, and its tools are called by their names.
func TestToolsOfAServer(t *testing.T) {
	t.Parallel()
	h := setup(t, func(h *fixture) string {
		return `'my files': ` + h.server(mcptest.Good, ``) + `, off: {command: 'x', enabled: false}`
	})
	if s := h.state("my files"); s.State != mcp.StateIdle || s.Starts != 0 {
		t.Errorf("before it is needed: %+v", s)
	}
	h.says("my-files__echo", `{"text": "안녕"}`, "안녕")
	h.says("my-files__append", `{"line": "one"}`, "added one")
	if text, err := os.ReadFile(h.effects); err != nil || string(text) != "one\n" {
		t.Errorf("%q, %v", text, err)
	}
	if out, err := h.call("my-files__fail", `{}`); err != nil || !out.IsError || out.Text != "it does not work" {
		t.Errorf("%+v, %v", out, err)
	}
	if out, err := h.call("my-files__refuse", `{}`); err != nil || !out.IsError || !strings.Contains(out.Text, "refused inside") {
		t.Errorf("%+v, %v", out, err)
	}
	if _, err := h.call("my-files__echo", `{}`); err == nil || !strings.Contains(err.Error(), "/text is missing") {
		t.Errorf("without an argument: %v", err)
	}
	if _, err := h.call("my-files__none", `{}`); err == nil || !strings.Contains(err.Error(), "not available") {
		t.Errorf("no such tool: %v", err)
	}
	if out, err := h.call("my-files__resources_list", `{}`); err != nil || !strings.Contains(out.Text, "file:///notes notes:") {
		t.Errorf("%.300s, %v", out.Text, err)
	}
	h.says("my-files__resources_read", `{"uri":"file:///notes"}`, "remember")
	s := h.state("my files")
	if s.State != mcp.StateReady || s.Starts != 1 || s.Server != "mcptest 1" || h.state("off").State != mcp.StateDisabled {
		t.Errorf("%+v", s)
	}
	names := h.offered(eden())
	if !slices.Equal(names, s.Tools) || !slices.Contains(names, "my-files__same-name") {
		t.Errorf("%q, %q", names, s.Tools)
	}
	problems := strings.Join(s.Problems, "\n")
	for _, want := range []string{"already a tool of this name", "broken_schema: ", "long_schema: its schema has"} {
		if !strings.Contains(problems, want) {
			t.Errorf("problems do not mention %q: %s", want, problems)
		}
	}
	if names := h.offered(tool.Caller{Entry: tool.ByRun, AgentID: "seum", SessionKey: "agent:seum:main"}); len(names) > 0 {
		t.Errorf("seum has %q", names)
	}
}

// Results are texts of bounded length; what a server knows of secrets stays hidden.
func TestResults(t *testing.T) {
	t.Parallel()
	h := setup(t, func(h *fixture) string { return `s: ` + h.server(mcptest.Good, ``) })
	out, err := h.call("s__giant", fmt.Sprintf(`{"bytes": %d}`, 1<<20))
	if err != nil || len(out.Text) > 70<<10 || len(out.Text) < 60<<10 {
		t.Errorf("%d bytes, %v", len(out.Text), err)
	}
	out, err = h.call("s__parts", `{}`)
	if err != nil || !strings.HasPrefix(out.Text, "see\n[picture, image/png, 4 bytes]\ninside\n[resource file:///b] b\nmore") ||
		!strings.HasSuffix(out.Text, "(140 more parts are left out: the result is too long.)") {
		t.Errorf("%.300s … %s, %v", out.Text, out.Text[max(len(out.Text)-80, 0):], err)
	}
	out, err = h.call("s__secret", `{}`)
	if err != nil || strings.Contains(out.Text, secret) || !strings.HasPrefix(out.Text, "the key is ***") {
		t.Errorf("%s, %v", out.Text, err)
	}
	out, err = h.call("s__ask", `{}`)
	if err != nil || !strings.HasPrefix(out.Text, "answer: decline") || !strings.Contains(out.Text, mcp.CodeDeclined+`. It asked: "your name?"`) {
		t.Errorf("%+v, %v", out, err)
	}
}

// What is read of resources is bounded like a result, and what is no text is described.
func TestResourcesAreBounded(t *testing.T) {
	t.Parallel()
	h := setup(t, func(h *fixture) string { return `s: ` + h.server(mcptest.Good, ``) })
	out, err := h.call("s__resources_read", `{"uri":"file:///text"}`)
	if err != nil || len(out.Text) > 70<<10 || !strings.HasPrefix(out.Text, "tttt") {
		t.Errorf("%d bytes, %v", len(out.Text), err)
	}
	h.says("s__resources_read", `{"uri":"file:///blob"}`, "[resource file:///blob, image/png, 1048576 bytes]")
	if out, err = h.call("s__resources_list", `{}`); err != nil || len(out.Text) > 4<<10 || !strings.Contains(out.Text, "file:///text big: ddd") {
		t.Errorf("%d bytes, %v", len(out.Text), err)
	}
}

// Every resource of a long list is reached, with the cursors that the agent is given.
func TestLongListsOfResources(t *testing.T) {
	t.Parallel()
	h := setup(t, func(h *fixture) string { return `s: ` + h.server(mcptest.Long, ``) })
	found, calls := map[string]bool{}, 0
	for cursor, more := "", true; more && calls < 20; calls++ {
		out, err := h.call("s__resources_list", fmt.Sprintf(`{"cursor":%q}`, cursor))
		if err != nil || len(out.Text) > 64<<10 || strings.Contains(out.Text, "left out") {
			t.Fatalf("%d bytes, %.300s, %v", len(out.Text), out.Text, err)
		}
		for line := range strings.Lines(out.Text) {
			if uri, _, is := strings.Cut(line, " one: "); is {
				found[uri] = true
			}
		}
		_, cursor, more = strings.Cut(out.Text, "(more with cursor ")
		cursor = strings.TrimSuffix(cursor, ")")
	}
	if len(found) != mcptest.Resources || calls < 3 {
		t.Errorf("%d calls have found %d resources of %d", calls, len(found), mcptest.Resources)
	}
}

// A server that fails each time is started again after longer and longer, however often it is asked for.
func TestStartsAreSpaced(t *testing.T) {
	t.Parallel()
	h := setup(t, func(h *fixture) string { return `s: ` + h.server(mcptest.Quits, ``) })
	h.offered(eden())
	down := func(failures int64) (retryAt time.Time) {
		h.until("it is down", func() bool {
			h.offered(eden())
			s := h.state("s")
			retryAt = s.RetryAt
			return s.State == mcp.StateDown && s.Failures >= failures
		})
		return retryAt
	}
	first := down(1)
	for range 200 {
		h.offered(eden())
	}
	second := down(2)
	if s := h.state("s"); s.Starts > 3 {
		t.Errorf("%+v", s)
	}
	if pause := second.Sub(first); pause < time.Second {
		t.Errorf("after a second failure it waits %s longer", pause)
	}
}

// A message that is far too long ends the connection, and only this call has no outcome.
func TestGiantMessageHarmsItsCallAlone(t *testing.T) {
	t.Parallel()
	h := setup(t, func(h *fixture) string { return `s: ` + h.server(mcptest.Good, ``) })
	h.unknown("s__giant", `{"bytes": 8000000}`, "connection")
	h.says("s__echo", `{"text": "still here"}`, "still here")
}

// A tool that hangs costs its call the time limit, and the outcome is unknown; others go on, and after three the server is started again.
func TestHangHarmsItsCallAlone(t *testing.T) {
	t.Parallel()
	h := setup(t, func(h *fixture) string {
		return `s: ` + h.server(mcptest.Good, `requestTimeoutMs: 1500`) + `, o: ` + h.server(mcptest.Good, ``)
	})
	h.unknown("s__hang", `{}`, "timeout")
	if s := h.state("s"); s.State != mcp.StateReady {
		t.Errorf("%+v", s)
	}
	h.says("o__echo", `{"text": "b"}`, "b")
	h.unknown("s__hang", `{}`, "timeout")
	h.unknown("s__hang", `{}`, "timeout")
	h.until("the connection is given up", func() bool { return h.state("s").State != mcp.StateReady })
	h.says("s__append", `{"line": "c"}`, "added c")
	if s := h.state("s"); s.Starts != 2 {
		t.Errorf("%+v", s)
	}
	if s := h.state("o"); s.Starts != 1 || s.Failures != 0 {
		t.Errorf("%+v", s)
	}
}

// A server that dies in the middle of a call is started again for the next one, after its back-off.
func TestDeathHarmsItsCallAlone(t *testing.T) {
	t.Parallel()
	h := setup(t, func(h *fixture) string { return `s: ` + h.server(mcptest.Good, ``) })
	h.unknown("s__die", `{}`, "connection")
	h.until("the death is known", func() bool { return h.state("s").State == mcp.StateDown })
	if s := h.state("s"); !strings.Contains(s.Error, "exit status 3") || !strings.Contains(s.Error, "dying of ***") || s.RetryAt.IsZero() {
		t.Errorf("%+v", s)
	}
	if s := h.state("s"); len(s.Log) == 0 || !strings.HasPrefix(s.Log[len(s.Log)-1], "dying of ***") {
		t.Errorf("log: %q", s.Log)
	}
	h.says("s__echo", `{"text": "again"}`, "again")
	if s := h.state("s"); s.Since.IsZero() {
		t.Errorf("%+v", s)
	}
	if s := h.state("s"); s.Starts != 2 || s.Failures != 1 {
		t.Errorf("%+v", s)
	}
}

// Servers that cannot be used are down with a reason, within the time for connecting, and leave the others alone.
func TestServersThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	for mode, want := range map[string]string{mcptest.Mute: "not ready after", mcptest.Deaf: "not ready after", mcptest.Noise: "", mcptest.Quits: "no license for ***",
		mcptest.Loop: "has no end"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			h := setup(t, func(h *fixture) string {
				return `bad: ` + h.server(mode, `connectionTimeoutMs: 9000`) + `, good: ` + h.server(mcptest.Good, ``)
			})
			if names := h.offered(eden()); len(names) < 10 || slices.ContainsFunc(names, func(n string) bool { return !strings.HasPrefix(n, "good__") }) {
				t.Errorf("offered: %q", names)
			}
			h.until("it is down", func() bool { return h.state("bad").State == mcp.StateDown })
			s := h.state("bad")
			if s.State != mcp.StateDown || !strings.Contains(s.Error, want) || s.Error == "" || len(s.Error) > 1_100 || strings.Contains(s.Error, secret) {
				t.Errorf("%+v", s)
			}
		})
	}
	h := setup(t, func(*fixture) string {
		return `gone: {command: 'openclawd-has-no-such-program'}, nowhere: {url: 'http://127.0.0.1:1/mcp'}`
	})
	h.offered(eden())
	h.until("both are down", func() bool {
		return h.state("gone").State == mcp.StateDown && h.state("nowhere").State == mcp.StateDown
	})
	if s := h.state("gone"); s.State != mcp.StateDown || !strings.Contains(s.Error, "not in PATH") {
		t.Errorf("%+v", s)
	}
	if s := h.state("nowhere"); s.State != mcp.StateDown || !strings.Contains(s.Error, "refused") {
		t.Errorf("%+v", s)
	}
}

// What is missing is known without starting anything.
func TestCheck(t *testing.T) {
	t.Parallel()
	h := setup(t, func(h *fixture) string {
		return `a: {command: 'openclawd-has-no-such-program'}, b: {command: '/no/such/program', enabled: false}, c: {command: '/no/such/program'}, d: ` +
			h.server(mcptest.Good, `cwd: '~/no such directory'`) + `, e: ` + h.server(mcptest.Good, ``) + `, f: {url: 'http://h/'}`
	})
	var got []string
	for _, p := range mcp.Check(h.conf.Load(), os.Getenv) {
		got = append(got, p.Server)
	}
	if !slices.Equal(got, []string{"a", "c", "d"}) {
		t.Errorf("%q", got)
	}
}

// Tools that are added while the server runs are offered, and a server that is removed from the configuration ends.
func TestChanges(t *testing.T) {
	t.Parallel()
	h := setup(t, func(h *fixture) string {
		return `s: ` + h.server(mcptest.Good, `toolFilter: {exclude: ['append*', 's__die']}`)
	})
	if names := h.offered(eden()); slices.Contains(names, "s__append") || slices.Contains(names, "s__die") || !slices.Contains(names, "s__echo") {
		t.Errorf("%q", names)
	}
	h.says("s__grow", `{}`, "growing")
	h.until("the list is read again", func() bool { return slices.Contains(h.state("s").Tools, "s__grown") })
	h.says("s__grown", `{}`, "grown")
	h.says("s__shrink", `{}`, "shrinking")
	h.until("the list is read again", func() bool { return !slices.Contains(h.state("s").Tools, "s__grown") })
	if _, err := h.call("s__grown", `{}`); err == nil || !strings.Contains(err.Error(), "not available") {
		t.Errorf("a tool that is gone: %v", err)
	}
	out, err := h.call("s__spawn", `{}`)
	if err != nil {
		t.Fatal(err)
	}
	child, err := strconv.Atoi(out.Text)
	if err != nil {
		t.Fatal(out.Text)
	}
	h.configure(`{}`)
	if names := h.offered(eden()); len(names) > 0 {
		t.Errorf("%q", names)
	}
	process, err := os.FindProcess(child)
	if err != nil {
		t.Fatal(err)
	}
	h.until("what the server has started is gone", func() bool { return process.Signal(syscall.Signal(0)) != nil || zombie(child) })
}

// zombie reports whether a process has ended, although its parent has not taken notice.
func zombie(pid int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, state, _ := strings.Cut(string(text), ") ")
	return err != nil || strings.HasPrefix(state, "Z")
}

// Only the kinds of sessions that the configuration names may use a server.
func TestSessionsOfAServer(t *testing.T) {
	t.Parallel()
	h := setup(t, func(h *fixture) string { return `s: ` + h.server(mcptest.Good, `sessions: ['subagent']`) })
	if names := h.offered(eden()); len(names) > 0 {
		t.Errorf("the main session has %q", names)
	}
	sub := eden()
	sub.SessionKey = "agent:eden:subagent:1"
	if names := h.offered(sub); !slices.Contains(names, "s__echo") {
		t.Errorf("the sub-agent has %q", names)
	}
}

// A server with an address is called with the headers of the configuration, which no other host gets.
func TestServerWithAnAddress(t *testing.T) {
	t.Parallel()
	good := httptest.NewServer(mcptest.Handler("Authorization", "Bearer "+secret))
	defer good.Close()
	reached := atomic.Int64{}
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
	defer elsewhere.Close()
	moved := httptest.NewServer(http.RedirectHandler(elsewhere.URL, http.StatusTemporaryRedirect))
	defer moved.Close()
	h := setup(t, func(*fixture) string {
		return fmt.Sprintf(`moved: {url: %q, headers: {Authorization: 'Bearer %s'}}, `, moved.URL, secret) + fmt.Sprintf(`web: {url: %q, headers: {Authorization: 'Bearer %s'}}, locked: {url: %[1]q, transport: 'streamable-http'}`, good.URL, secret)
	})
	h.says("web__echo", `{"text": "over http"}`, "over http")
	out, err := h.call("web__ask", `{}`)
	if err != nil || !strings.Contains(out.Text, mcp.CodeDeclined) {
		t.Errorf("%+v, %v", out, err)
	}
	h.offered(eden())
	h.until("moved is down", func() bool { return h.state("moved").State == mcp.StateDown })
	if s := h.state("moved"); reached.Load() > 0 || !strings.Contains(s.Error, "another host") {
		t.Errorf("%+v; the other host was asked %d times", s, reached.Load())
	}
	if s := h.state("locked"); s.State != mcp.StateDown || !strings.Contains(strings.ToLower(s.Error), "unauthorized") {
		t.Errorf("%+v", s)
	}
	good.CloseClientConnections()
	good.Close()
	h.until("no connection is left that the calls are written to before its end is noticed", func() bool {
		out, err := h.call("web__append", `{"line": "x"}`)
		if err == nil && !out.IsError {
			t.Error("it answers although it is gone")
		}
		return err != nil
	})
	h.unavailable("web__append", `{"line": "x"}`)
	if outcome, _ := h.outcome.Load("web"); outcome != mcp.Unmade {
		t.Errorf("the outcome is %v", outcome)
	}
}

// A server that is just being started ends at once when the program does, and one that was never ready leaves no process.
func TestCloseDuringAStart(t *testing.T) {
	t.Parallel()
	h := setup(t, func(h *fixture) string { return `s: ` + h.server(mcptest.Mute, `connectionTimeoutMs: 3600000`) })
	waited := make(chan struct{})
	ctx, stop := context.WithCancel(t.Context())
	go func() {
		defer close(waited)
		h.Await(ctx, func(string) bool { return true })
	}()
	h.until("it is being started", func() bool { return h.state("s").State == mcp.StateStarting })
	stop()
	<-waited
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		h.Close()
	}()
	select {
	case <-closed:
	case <-time.After(testscale.Patience):
		t.Error("it waits for the server")
	}
}

// Of secrets of which one begins with another nothing is shown, nor of one at the place where a text is cut, nor in JSON.
func TestSecretsInResults(t *testing.T) {
	t.Parallel()
	const longer = secret + `-<"longer">`
	h := setup(t, func(h *fixture) string {
		return fmt.Sprintf(`s: {command: %q, args: ['-test.run=^$'], env: {%s: %q, A: %q, B: %q}}`, os.Args[0], mcptest.Env, mcptest.Good, secret, longer)
	})
	for name, text := range map[string]string{"longer": longer, "in JSON": `{"a":"` + secret + `-<\"longer\">"}`, "at the cut": strings.Repeat("x", 64<<10-5) + secret} {
		args, err := json.Marshal(map[string]string{"text": text})
		if err != nil {
			t.Fatal(err)
		}
		out, err := h.call("s__echo", string(args))
		if err != nil || strings.Contains(out.Text, "longer") || strings.Contains(out.Text, secret[:4]) {
			t.Errorf("%s: %s, %v", name, out.Text[max(len(out.Text)-100, 0):], err)
		}
	}
}

// What is read of a list without measure is bounded, and the first tools are used.
func TestVeryLongList(t *testing.T) {
	t.Parallel()
	h := setup(t, func(h *fixture) string { return `s: ` + h.server(mcptest.Long, ``) })
	if n := len(h.offered(eden())); n < 120 || n > 130 { // 128 with repetitions, and those for resources
		t.Errorf("%d tools", n)
	}
	h.says("s__echo", `{"text": "here"}`, "here")
}
