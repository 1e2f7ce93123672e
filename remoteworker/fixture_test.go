package remoteworker_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/gateway/client"
	"github.com/pronto-lab/openclawd/internal/testscale"
	"github.com/pronto-lab/openclawd/server/settings"
)

const (
	secret      = "secret"
	workerToken = "token-of-workers"
	modelKey    = "key-of-the-worker"
)

// team is a server and the machine of its workers, each with a directory of its own, and a server of models.
type team struct {
	t               testing.TB
	server, machine string // directories
	model           *model
	running         *process // the server
	at              string   // its gateway's address
}

// newTeam makes a team whose agent main runs on workers, gpu on workers with that label, and near on the server.
func newTeam(t testing.TB) *team {
	t.Helper()
	x := &team{t: t, server: t.TempDir(), machine: t.TempDir(), model: newModel(t)}
	const agents = `agents: {defaults: {model: {primary: 'fake/m'}, maxConcurrent: 8}, entries: {
		main: {default: true, workspace: %q%s}, gpu: {workspace: %q%s}}}, tools: {exec: {sandbox: 'off'}}`
	const serverOnly = `gateway: {auth: {mode: 'token', token: '` + secret + `', workerToken: '` + workerToken + `'}, workers: {leaseSeconds: 2}}, `
	x.write(x.server, fmt.Sprintf("{"+serverOnly+agents+"}", filepath.Join(x.server, "w"), `, runs: {on: 'worker'}`, filepath.Join(x.server, "g"),
		`, runs: {on: 'worker', labels: ['gpu']}`))
	x.write(x.machine, fmt.Sprintf("{"+agents+`, models: {providers: {fake: {baseUrl: %q, apiKey: '`+modelKey+`', models: [{id: 'm'}]}}}}`,
		x.work(), "", filepath.Join(x.machine, "g"), "", x.model.URL+"/v1"))
	if err := os.WriteFile(filepath.Join(x.work(), "AGENTS.md"), []byte("You live on the worker's machine."), 0o600); err != nil {
		t.Fatal(err)
	}
	return x
}

// work is the workspace of main on the workers' machine.
func (x *team) work() string { return filepath.Join(x.machine, "w") }

func (x *team) write(dir, conf string) {
	x.t.Helper()
	err := os.WriteFile(filepath.Join(dir, settings.FileName), []byte(conf), 0o600)
	for _, name := range []string{"w", "g"} {
		err = errors.Join(err, os.MkdirAll(filepath.Join(dir, name), 0o700))
	}
	if err != nil {
		x.t.Fatal(err)
	}
}

// process is this binary as a server or a worker.
type process struct {
	t      testing.TB
	cmd    *exec.Cmd
	dead   sync.Once
	stderr *lines
}

// lines keeps what a process writes.
type lines struct {
	mu  sync.Mutex
	all bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.String()
}

func (x *team) start(name string, env ...string) (p *process, first string) {
	x.t.Helper()
	self, err := os.Executable()
	if err != nil {
		x.t.Fatal(err)
	}
	p = &process{t: x.t, cmd: exec.Command(self), stderr: &lines{}}
	p.cmd.Env = append(os.Environ(), env...)
	p.cmd.Stderr = p.stderr
	_, in := p.cmd.StdinPipe()
	stdout, out := p.cmd.StdoutPipe()
	if err := errors.Join(in, out, p.cmd.Start()); err != nil {
		x.t.Fatal(err)
	}
	x.t.Cleanup(func() {
		p.kill()
		if x.t.Failed() {
			text := p.stderr.String()
			x.t.Logf("%s wrote:\n%s", name, text[max(0, len(text)-6_000):])
		}
	})
	if name != "server" {
		return p, ""
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		x.t.Fatalf("the server said nothing: %v\n%s", err, p.stderr)
	}
	return p, strings.TrimSpace(line)
}

// kill is kill -9.
func (p *process) kill() {
	p.dead.Do(func() {
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
	})
}

// serve starts the server, at the address it had before.
func (x *team) serve() {
	x.t.Helper()
	at := x.at
	if at == "" {
		at = "127.0.0.1:0"
	}
	p, url := x.start("server", envServe+"="+x.server, envGateway+"="+at)
	x.running, x.at = p, strings.TrimPrefix(url, "ws://")
}

// hire starts a worker that connects to an address.
func (x *team) hire(name, at, labels string, slots int) *process {
	x.t.Helper()
	p, _ := x.start("worker "+name, envWork+"="+x.machine, envGateway+"=ws://"+at, envToken+"="+workerToken, envName+"="+name, envLabels+"="+labels, fmt.Sprint(envSlots, "=", slots))
	return p
}

// dial connects an operator.
func (x *team) dial(change ...func(*client.Options)) *client.Client {
	x.t.Helper()
	c, err := x.tryDial(change...)
	if err != nil {
		x.t.Fatal(err)
	}
	x.t.Cleanup(func() { _ = c.Close() })
	return c
}

func (x *team) tryDial(change ...func(*client.Options)) (*client.Client, error) {
	o := client.Options{Token: secret}
	for _, c := range change {
		c(&o)
	}
	return client.Dial(context.Background(), "ws://"+x.at, o)
}

func call[T any](t testing.TB, c *client.Client, method string, params any) (answer T) {
	t.Helper()
	payload, err := c.Call(context.Background(), method, params)
	if err == nil {
		err = json.Unmarshal(payload, &answer)
	}
	if err != nil {
		t.Fatalf("%s: %v", method, err)
	}
	return answer
}

// ask has an agent answer a message; the id of the run is its idempotency key.
func ask(t testing.TB, c *client.Client, agent, session, id, message string) {
	t.Helper()
	call[any](t, c, "agent", map[string]any{"message": message, "agentId": agent, "sessionKey": "agent:" + agent + ":" + session, "idempotencyKey": id})
}

type waited struct{ State, Error string }

// over waits for the end of a run.
func over(t testing.TB, c *client.Client, id string) waited {
	t.Helper()
	deadline := time.Now().Add(testscale.Patience)
	for time.Now().Before(deadline) {
		if w := call[waited](t, c, "agent.wait", map[string]any{"runId": id, "timeoutMs": 5_000}); w.State != "running" && w.State != "unknown" {
			return w
		}
	}
	t.Fatalf("the run %s does not end", id)
	return waited{}
}

type shownWorkers struct {
	Workers []struct {
		Name    string
		Waiting bool
		Runs    []struct{ RunID string }
	}
}

// until waits until something is so of the workers that the server knows.
func until(t testing.TB, c *client.Client, what string, is func(*shownWorkers) bool) {
	t.Helper()
	deadline := time.Now().Add(testscale.Patience)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for time.Now().Before(deadline) {
		if w := call[shownWorkers](t, c, "worker.list", nil); is(&w) {
			return
		}
		<-tick.C
	}
	t.Fatalf("never: %s", what)
}

// effects counts the lines that commands have written on the workers' machine.
func (x *team) effects() map[string]int {
	x.t.Helper()
	text, err := os.ReadFile(filepath.Join(x.work(), "effects.txt"))
	if err != nil && !os.IsNotExist(err) {
		x.t.Fatal(err)
	}
	times := map[string]int{}
	for line := range strings.Lines(string(text)) {
		times[strings.TrimSpace(line)]++
	}
	return times
}

// model is an OpenAI-compatible server: it has a command run for "do N", speaks slowly and without end for "slow", and ends otherwise.
type model struct {
	*httptest.Server
	asked, wrongKey, gone atomic.Int64
	lived                 atomic.Bool // it has read the worker's AGENTS.md
}

var wanted = regexp.MustCompile(`(do|long) (\d+)`)

func newModel(t testing.TB) *model {
	m := &model{}
	m.Server = httptest.NewServer(http.HandlerFunc(m.answer))
	t.Cleanup(func() { m.CloseClientConnections(); m.Close() })
	return m
}

func (m *model) answer(w http.ResponseWriter, r *http.Request) {
	m.asked.Add(1)
	if r.Header.Get("Authorization") != "Bearer "+modelKey {
		m.wrongKey.Add(1)
	}
	var asked struct {
		Messages []struct {
			Role    string
			Content json.RawMessage
		}
	}
	body, _ := io.ReadAll(r.Body)
	_ = json.Unmarshal(body, &asked)
	if bytes.Contains(body, []byte("You live on the worker's machine.")) {
		m.lived.Store(true)
	}
	last := asked.Messages[len(asked.Messages)-1]
	w.Header().Set("Content-Type", "text/event-stream")
	chunk := func(delta map[string]any, finish any) {
		text, _ := json.Marshal(map[string]any{"choices": []any{map[string]any{"index": 0, "delta": delta, "finish_reason": finish}}})
		fmt.Fprintf(w, "data: %s\n\n", text)
		w.(http.Flusher).Flush()
	}
	found := wanted.FindSubmatch(last.Content)
	switch {
	case last.Role == "tool":
		chunk(map[string]any{"content": "it says "}, nil)
		chunk(map[string]any{"content": "done"}, nil)
		chunk(map[string]any{}, "stop")
	case found != nil:
		command := fmt.Sprintf("echo '%s' >> effects.txt", found[2])
		if string(found[1]) == "long" {
			command += "; sleep 0.2"
		}
		args, _ := json.Marshal(map[string]any{"command": command})
		chunk(map[string]any{"tool_calls": []any{map[string]any{"index": 0, "id": "c1", "type": "function", "function": map[string]any{"name": "exec", "arguments": string(args)}}}}, nil)
		chunk(map[string]any{}, "tool_calls")
	case bytes.Contains(last.Content, []byte("slow")):
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-r.Context().Done():
				m.gone.Add(1)
				return
			case <-tick.C:
				chunk(map[string]any{"content": "word "}, nil)
			}
		}
	default:
		chunk(map[string]any{"content": "hello"}, nil)
		chunk(map[string]any{}, "stop")
	}
	fmt.Fprint(w, "data: [DONE]\n\n")
}

// proxy passes connections to an address on, until it is cut.
type proxy struct {
	listener net.Listener
	to       string

	mu   sync.Mutex
	open map[net.Conn]bool
	down bool
}

func newProxy(t testing.TB, to string) *proxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{listener: listener, to: to, open: map[net.Conn]bool{}}
	t.Cleanup(func() { _ = listener.Close(); p.cut(true) })
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			go p.pass(c)
		}
	}()
	return p
}

func (p *proxy) pass(c net.Conn) {
	defer c.Close()
	p.mu.Lock()
	down := p.down
	p.mu.Unlock()
	if down {
		return
	}
	d, err := net.Dial("tcp", p.to)
	if err != nil {
		return
	}
	defer d.Close()
	p.mu.Lock()
	p.open[c], p.open[d] = true, true
	p.mu.Unlock()
	go func() { _, _ = io.Copy(d, c); _ = d.Close() }()
	_, _ = io.Copy(c, d)
	p.mu.Lock()
	delete(p.open, c)
	delete(p.open, d)
	p.mu.Unlock()
}

// cut ends all connections, and refuses new ones while it stays down.
func (p *proxy) cut(down bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.down = down
	if down {
		for c := range p.open {
			_ = c.Close()
		}
	}
}
