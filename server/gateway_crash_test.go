package server

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/database"
	"github.com/pronto-lab/openclawd/eventstore/storetest"
	"github.com/pronto-lab/openclawd/gateway/client"
	"github.com/pronto-lab/openclawd/internal/testscale"
)

// talkRounds is how often the server is killed while clients talk, unless the environment says otherwise.
var talkRounds = testscale.Of[uint64](2, 4)

// envServeUntilKilled is a state directory: a process of this binary in whose environment it is serves it, and runs no tests. The others are
// addresses of channels' services, "" for their own.
const (
	envServeUntilKilled = "OPENCLAWD_TEST_SERVE"
	envTelegramAPI      = "OPENCLAWD_TEST_TELEGRAM_API"
	envSlackAPI         = "OPENCLAWD_TEST_SLACK_API"
	envAddresses        = "OPENCLAWD_TEST_ADDRESSES" // of the API and of the gateway, with a comma between them
)

// serveUntilKilled says on standard output where its gateway is. It ends with its standard input, also when the test is killed.
func serveUntilKilled(dir string) (code int) {
	ctx, stop := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		stop()
	}()
	p := New(Options{
		StateDir: dir, DB: filepath.Join(dir, database.Name), API: "127.0.0.1:0", Gateway: "127.0.0.1:0", Rules: coordination.RulesV2, Now: time.Now,
		DiscordAPI: os.Getenv(envDiscordAPI), TelegramAPI: os.Getenv(envTelegramAPI), SlackAPI: os.Getenv(envSlackAPI),
		Logger: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError})),
	})
	if api, gateway, given := strings.Cut(os.Getenv(envAddresses), ","); given {
		p.opts.API, p.opts.Gateway = api, gateway
		p.opts.Logger = slog.New(slog.NewTextHandler(os.Stderr, nil))
	}
	p.opts.Ready = func(_, gateway net.Addr) { fmt.Println(gatewayURL(gateway)) }
	if err := errors.Join(p.Run(ctx), p.Close()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// victim is a server as a process of its own.
type victim struct {
	cmd    *exec.Cmd
	stdin  io.Closer
	url    string
	stderr bytes.Buffer
	dead   sync.Once
}

func startVictim(t *testing.T, dir string, env ...string) *victim {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	v := &victim{cmd: exec.Command(self)}
	t.Cleanup(v.kill)
	v.cmd.Env = append(append(os.Environ(), envServeUntilKilled+"="+dir), env...)
	v.cmd.Stderr = &v.stderr
	stdout, out := v.cmd.StdoutPipe()
	stdin, in := v.cmd.StdinPipe()
	v.stdin = stdin
	if err := errors.Join(out, in, v.cmd.Start()); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		v.kill()
		t.Fatalf("the server said nothing: %v\n%s", err, v.stderr.Bytes())
	}
	v.url = strings.TrimSpace(line)
	return v
}

// finish ends the process in order.
func (v *victim) finish() (err error) {
	v.dead.Do(func() { err = errors.Join(v.stdin.Close(), v.cmd.Wait()) })
	return err
}

// kill is kill -9. When it returns, also from a second call, the process is gone.
func (v *victim) kill() {
	v.dead.Do(func() {
		_ = v.cmd.Process.Kill()
		_ = v.cmd.Wait()
	})
}

// known is what the clients know of one session: what was acknowledged, and what was asked for when the server was killed.
type known struct {
	key      string
	label    string
	messages []string

	asked string // the method that has had no answer; "": none
	text  string // what it was to set or to say
}

// stored is what the gateway says of all sessions.
type stored struct {
	Labels, IDs map[string]string
	Texts       map[string][]string
}

func everything(t *testing.T, c *client.Client) *stored {
	t.Helper()
	s := &stored{map[string]string{}, map[string]string{}, map[string][]string{}}
	list := calls[sessionList](t, c, "sessions.list", nil)
	for _, row := range list.Sessions {
		h := calls[history](t, c, "chat.history", map[string]any{"sessionKey": row.Key, "limit": 1000})
		s.Labels[row.Key], s.IDs[row.Key], s.Texts[row.Key] = row.Label, row.SessionID, h.texts()
	}
	return s
}

// Clients name sessions and talk in them while the server is killed, again and again. What was acknowledged is there afterwards; what
// had no answer yet is there or not, but nothing else is.
//
// Promise: sessions
func TestCrashWhileClientsTalk(t *testing.T) {
	t.Parallel()
	rounds, base := crashSetting(t, storetest.EnvCrashRounds, talkRounds), crashSetting(t, storetest.EnvCrashSeedBase, rand.Uint64())
	t.Logf("%d rounds; repeat with %s=%d", rounds, storetest.EnvCrashSeedBase, base)
	dir := gatewayHome(t)
	var sessions []*known
	for i := range 6 {
		sessions = append(sessions, &known{key: fmt.Sprintf("agent:%s:crash-%d", []string{"main", "eden", "seum"}[i%3], i)})
	}
	acknowledged := 0
	for round := range rounds {
		seed := base + round
		v := startVictim(t, dir)
		c := connect(t, v.url)
		n := talkUntilKilled(t, v, sessions, rand.New(rand.NewPCG(seed, 0)))
		acknowledged += n
		v.kill()
		<-c.Done()
		t.Logf("round %d, seed %d: %d acknowledged", round+1, seed, n)

		v = startVictim(t, dir)
		before := everything(t, connect(t, v.url))
		for _, k := range sessions {
			k.check(t, before)
		}
		v.kill()
		v = startVictim(t, dir)
		if diff := cmp.Diff(before, everything(t, connect(t, v.url))); diff != "" {
			t.Errorf("killed while idle (-before +after):\n%s", diff)
		}
		v.kill()
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	if acknowledged == 0 {
		t.Error("nothing was acknowledged")
	}
}

func crashSetting(t *testing.T, name string, otherwise uint64) uint64 {
	t.Helper()
	text, ok := os.LookupEnv(name)
	if !ok {
		return otherwise
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

// talkUntilKilled has a client talk in each session, kills the server after a number of answers and a little while, and returns how many
// there were.
func talkUntilKilled(t *testing.T, v *victim, sessions []*known, r *rand.Rand) (acknowledged int) {
	t.Helper()
	answers := make(chan struct{})
	talking := sync.WaitGroup{}
	for _, k := range sessions {
		c, seed := connect(t, v.url), r.Uint64()
		talking.Go(func() { k.talk(t, c, rand.New(rand.NewPCG(seed, 1)), answers) })
	}
	go func() {
		talking.Wait()
		close(answers)
	}()
	enough, soon := 1+r.IntN(1<<r.IntN(9)), time.Duration(r.Int64N(int64(3*time.Millisecond)))
	timer := time.AfterFunc(2*time.Second, v.kill)
	defer timer.Stop()
	for range answers {
		if acknowledged++; acknowledged == enough {
			timer.Reset(soon)
		}
	}
	return acknowledged
}

// talk names the session and speaks in it until the connection is gone.
func (k *known) talk(t *testing.T, c *client.Client, r *rand.Rand, answers chan<- struct{}) {
	for {
		method, params := "sessions.patch", map[string]any{"key": k.key}
		k.text = fmt.Sprintf("%s %x", k.key, r.Uint64())
		if k.label == "" || r.IntN(3) == 0 {
			params["label"] = k.text
		} else {
			method, params = "chat.inject", map[string]any{"sessionKey": k.key, "message": k.text}
		}
		k.asked = method
		if _, err := c.Call(context.Background(), method, params); err != nil {
			var closed *client.ClosedError
			if !errors.As(err, &closed) {
				t.Errorf("%s %v: %v", method, params, err)
			}
			return
		}
		k.acknowledge()
		answers <- struct{}{}
	}
}

// acknowledge takes what was asked for as done.
func (k *known) acknowledge() {
	if k.asked == "sessions.patch" {
		k.label = k.text
	} else {
		k.messages = append(k.messages, k.text)
	}
	k.asked = ""
}

// check compares a session with what is known of it. What had no answer counts as done if it is there.
func (k *known) check(t *testing.T, s *stored) {
	t.Helper()
	texts := s.Texts[k.key]
	if k.asked == "sessions.patch" && s.Labels[k.key] == k.text || k.asked == "chat.inject" && slices.Contains(texts, k.text) {
		k.acknowledge()
	}
	k.asked = ""
	if got := s.Labels[k.key]; got != k.label {
		t.Errorf("%s: label %q, acknowledged was %q", k.key, got, k.label)
	}
	if diff := cmp.Diff(k.messages, texts); diff != "" {
		t.Errorf("%s: messages (-acknowledged +stored):\n%s", k.key, diff)
	}
}
