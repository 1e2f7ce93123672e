package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/cluster"
	"github.com/pronto-lab/openclawd/coordination/health"
	"github.com/pronto-lab/openclawd/database"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/gateway/client"
	"github.com/pronto-lab/openclawd/internal/testscale"
	"github.com/pronto-lab/openclawd/mcp/mcptest"
	"github.com/pronto-lab/openclawd/server/settings"
)

// nodes are the processes of a cluster, each with a state directory of its own.
type nodes struct {
	effects string // file with a line for each effect of a tool
	list    []*clusterNode
}

type clusterNode struct {
	name, dir    string
	api, gateway string // URLs
	v            *victim
}

// clusterConfig has places for the URL of the log, the name, the seconds of the lease, and the settings of the MCP server.
const clusterConfig = `{gateway: {auth: {mode: 'token', token: 'secret'}}, agents: {defaults: {maxConcurrent: 8}, entries: {main: {default: true}, eden: {}, seum: {}}},
	models: {scripted: {script: 'mcp.json'}}, mcp: {servers: {files: %s}},
	cluster: {log: '%s', node: '%s', leaseSeconds: %d, token: 'this is known to all nodes'}}`

// newNodes writes the state directories of a cluster whose nodes reach the shared log at these URLs, one for each.
func newNodes(t *testing.T, lease int, logs ...string) *nodes {
	t.Helper()
	all := &nodes{effects: filepath.Join(t.TempDir(), "effects.txt")}
	tool := fmt.Sprintf(`{command: %q, args: ['-test.run=^$'], env: {%s: %q, %s: %q, %s: '20ms'}}`, os.Args[0], mcptest.Env, mcptest.Good, mcptest.EnvEffects, all.effects, mcptest.EnvSlow)
	ports := unusedPorts(t, 2*len(logs))
	for i, log := range logs {
		n := &clusterNode{name: string(rune('a' + i)), dir: t.TempDir(), api: "http://127.0.0.1:" + ports[2*i], gateway: "ws://127.0.0.1:" + ports[2*i+1]}
		for name, text := range map[string]string{settings.FileName: fmt.Sprintf(clusterConfig, tool, log, n.name, lease), "mcp.json": mcpScript} {
			if err := os.WriteFile(filepath.Join(n.dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		all.list = append(all.list, n)
	}
	return all
}

func unusedPorts(t *testing.T, n int) []string {
	t.Helper()
	ports := make([]string, n)
	for i := range ports {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer listener.Close()
		_, ports[i], _ = net.SplitHostPort(listener.Addr().String())
	}
	return ports
}

// start starts the process of a node, and returns when it answers.
func (n *clusterNode) start(t *testing.T) {
	t.Helper()
	n.v = startVictim(t, n.dir, envAddresses+"="+strings.TrimPrefix(n.api, "http://")+","+strings.TrimPrefix(n.gateway, "ws://"))
}

// told is what the process has logged.
func (n *clusterNode) told() string { return n.name + ":\n" + n.v.stderr.String() }

// end stops the process in order.
func (n *clusterNode) end(t *testing.T) {
	t.Helper()
	if err := n.v.finish(); err != nil {
		t.Errorf("node %s: %v\n%s", n.name, err, n.v.stderr.Bytes())
	}
}

func (n *clusterNode) signal(t *testing.T, s syscall.Signal) {
	t.Helper()
	if err := n.v.cmd.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
}

// status asks a node for the state of the cluster.
func (n *clusterNode) status(ctx context.Context) (s health.ClusterState, err error) {
	text, err := get(ctx, n.api+"/api/cluster")
	if err != nil {
		return s, err
	}
	return s, json.Unmarshal(text, &s)
}

// get reads an answer, which must be a good one.
func get(ctx context.Context, url string) ([]byte, error) {
	ctx, stop := context.WithTimeout(ctx, 2*time.Second)
	defer stop()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return nil, err
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", answer.Status, text)
	}
	return text, err
}

// writer returns the node that writes, as soon as one of some says that it does.
func (a *nodes) writer(t *testing.T, among ...*clusterNode) *clusterNode {
	t.Helper()
	if len(among) == 0 {
		among = a.list
	}
	var found *clusterNode
	eventually(t, "one of the nodes writes", func() bool {
		for _, n := range among {
			if s, err := n.status(t.Context()); err == nil && s.Role == cluster.Writer {
				found = n
				return true
			}
		}
		return false
	})
	return found
}

// eventually looks until something is so.
func eventually(t *testing.T, what string, is func() bool, why ...func() string) {
	t.Helper()
	late, tick := time.NewTimer(testscale.Patience/5), time.NewTicker(20*time.Millisecond)
	defer late.Stop()
	defer tick.Stop()
	for !is() {
		select {
		case <-tick.C:
		case <-late.C:
			for _, w := range why {
				what += ": " + w()
			}
			t.Fatalf("it does not come to be that %s", what)
		}
	}
}

// acquaint waits until all nodes know of each other, and of one writer.
func (a *nodes) acquaint(t *testing.T) {
	t.Helper()
	eventually(t, "all nodes know of each other", func() bool {
		for _, n := range a.list {
			s, err := n.status(t.Context())
			if err != nil || len(s.Nodes) != len(a.list) || s.Writer == "" {
				return false
			}
			for _, p := range s.Nodes {
				if p.Role == cluster.Writer && p.Node != s.Writer || p.Role != cluster.Writer && p.Node == s.Writer {
					return false
				}
			}
		}
		return true
	})
}

// others are all nodes but some.
func (a *nodes) others(but ...*clusterNode) []*clusterNode {
	return slices.DeleteFunc(slices.Clone(a.list), func(n *clusterNode) bool { return slices.Contains(but, n) })
}

// speaker is a client that says one thing after the other, at whichever node takes it, and repeats what had no answer.
type speaker struct {
	key  string
	list []*clusterNode
	rand *rand.Rand

	mu    sync.Mutex
	acks  []ack
	wrong error
}

// ack is a message that was acknowledged.
type ack struct {
	text      string
	since, at time.Time // of the attempt that was acknowledged
}

// run speaks until ctx ends.
func (s *speaker) run(ctx context.Context) {
	var c *client.Client
	defer func() {
		if c != nil {
			_ = c.Close()
		}
	}()
	at := s.rand.IntN(len(s.list))
	for said := 0; ctx.Err() == nil; {
		if c == nil {
			at = (at + 1) % len(s.list)
			dialing, stop := context.WithTimeout(ctx, time.Second)
			var err error
			c, err = client.Dial(dialing, s.list[at].gateway, client.Options{Token: "secret"})
			stop()
			if err != nil {
				c = nil
				s.failed(err)
				brief := time.NewTimer(10 * time.Millisecond)
				<-brief.C
				continue
			}
		}
		text, since := fmt.Sprintf("%s %d", s.key, said), time.Now()
		asking, stop := context.WithTimeout(ctx, 2*time.Second)
		var err error
		if said == 0 { // a session must be there before anything is said in it
			_, err = c.Call(asking, "sessions.patch", map[string]any{"key": s.key, "label": s.key})
		}
		if err == nil {
			_, err = c.Call(asking, "chat.inject", map[string]any{"sessionKey": s.key, "message": text})
		}
		stop()
		if err != nil {
			s.failed(err)
			_ = c.Close()
			c = nil
			continue
		}
		said++
		s.mu.Lock()
		s.acks = append(s.acks, ack{text, since, time.Now()})
		s.mu.Unlock()
	}
}

func (s *speaker) failed(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wrong = fmt.Errorf("at %s: %w", time.Now().Format(time.TimeOnly), err)
}

// firstAfter returns when the first message was acknowledged that was sent after a moment.
func (s *speaker) firstAfter(moment time.Time) (at time.Time, found bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range s.acks {
		if a.since.After(moment) {
			return a.at, true
		}
	}
	return at, false
}

// speakers are clients that speak until they are stopped.
type speakers struct {
	list []*speaker
	stop func()
}

func (a *nodes) speak(t *testing.T, n int, r *rand.Rand) *speakers {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var going sync.WaitGroup
	all := &speakers{stop: func() {
		cancel()
		going.Wait()
	}}
	for i := range n {
		s := &speaker{key: fmt.Sprintf("agent:main:speaker-%d-%x", i, r.Uint32()), list: a.list, rand: rand.New(rand.NewPCG(r.Uint64(), 1))}
		all.list = append(all.list, s)
		going.Go(func() { s.run(ctx) })
	}
	t.Cleanup(all.stop)
	t.Cleanup(func() {
		for _, n := range a.list {
			if t.Failed() && n.v != nil {
				n.v.kill()
				t.Log(n.told())
			}
		}
	})
	return all
}

// until waits until a message was acknowledged that was sent after a moment, and returns how long that took.
func (s *speakers) until(t *testing.T, moment time.Time) time.Duration {
	t.Helper()
	var first time.Time
	eventually(t, "a message is acknowledged again", func() bool {
		first = time.Time{}
		for _, one := range s.list {
			if at, found := one.firstAfter(moment); found && (first.IsZero() || at.Before(first)) {
				first = at
			}
		}
		return !first.IsZero()
	}, s.trouble)
	return first.Sub(moment)
}

// trouble are the last errors of the clients.
func (s *speakers) trouble() (all string) {
	for _, one := range s.list {
		one.mu.Lock()
		all += fmt.Sprintf("\n%s: %v", one.key, one.wrong)
		one.mu.Unlock()
	}
	return all
}

// acknowledged returns how many messages were acknowledged, by session.
func (s *speakers) acknowledged() (texts map[string]bool) {
	texts = map[string]bool{}
	for _, one := range s.list {
		one.mu.Lock()
		for _, a := range one.acks {
			texts[a.text] = true
		}
		one.mu.Unlock()
	}
	return texts
}

// settle waits until all nodes have the same newest event, and ends them.
func (a *nodes) settle(t *testing.T) {
	t.Helper()
	eventually(t, "all nodes are at the same event", func() bool {
		heads := map[string]bool{}
		for _, n := range a.list {
			s, err := n.status(t.Context())
			if err != nil || s.Seq == 0 {
				return false
			}
			heads[fmt.Sprint(s.Seq, s.Hash)] = true
		}
		return len(heads) == 1
	})
	w := a.writer(t)
	for _, n := range a.others(w) {
		n.end(t)
	}
	w.end(t)
}

// logOf reads the log of a node that has ended.
func (n *clusterNode) logOf(t *testing.T) []eventstore.Event {
	t.Helper()
	log, err := database.OpenToRead(t.Context(), filepath.Join(n.dir, database.Name), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	var all []eventstore.Event
	for after := int64(0); ; {
		events, err := log.Read(t.Context(), after, 1_000)
		if err != nil {
			t.Fatal(err)
		}
		if len(events) == 0 {
			return all
		}
		after = events[len(events)-1].Seq
		all = append(all, events...)
	}
}

// judge checks, by the logs alone, that all nodes have the same events in the same order, and each acknowledged message.
// Nodes may lack the end of the longest log, which the last writer appended while it ended.
func (a *nodes) judge(t *testing.T, acknowledged map[string]bool) {
	t.Helper()
	var longest []eventstore.Event
	logs := map[string][]eventstore.Event{}
	for _, n := range a.list {
		logs[n.name] = n.logOf(t)
		if len(logs[n.name]) > len(longest) {
			longest = logs[n.name]
		}
	}
	for name, log := range logs {
		if err := judgeLogs(longest, log, acknowledged); err != nil {
			t.Errorf("node %s: %v", name, err)
		}
	}
}

// judgeLogs says why a log is not the beginning of the longest one, or lacks an acknowledged message.
func judgeLogs(longest, log []eventstore.Event, acknowledged map[string]bool) error {
	left := map[string]bool{}
	for text := range acknowledged {
		left[text] = true
	}
	for i := range log {
		e := &log[i]
		if e.Seq != int64(i)+1 {
			return fmt.Errorf("event %d has the place of event %d", e.Seq, i+1)
		}
		if i >= len(longest) || e.Hash != longest[i].Hash || e.ID != longest[i].ID {
			return fmt.Errorf("event %d differs", e.Seq)
		}
		var d struct{ Message, Text string }
		if json.Unmarshal(e.Data, &d) == nil {
			delete(left, d.Message)
			delete(left, d.Text)
		}
	}
	for text := range left {
		return errors.New(fmt.Sprint(len(left), " acknowledged messages are missing, such as ", text))
	}
	return nil
}
