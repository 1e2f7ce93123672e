package server

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/cluster"
	"github.com/pronto-lab/openclawd/eventstore/shared/jetstream/natstest"
	"github.com/pronto-lab/openclawd/eventstore/shared/sharedtest"
	"github.com/pronto-lab/openclawd/eventstore/storetest"
	"github.com/pronto-lab/openclawd/gateway/client"
	"github.com/pronto-lab/openclawd/internal/testscale"
)

// nodeRounds is how many faults the nodes of a cluster get.
var nodeRounds = testscale.Of[uint64](3, 20) * (1 + 4*(testscale.Times/10))

// nodeFaults are what happens to the node that writes, or to another one. Each ends when the cluster writes again.
var nodeFaults = []string{"kill the writer", "stop the writer beyond its lease", "cut the writer off", "kill a follower", "promote a follower"}

// Three nodes write for eight clients that repeat what had no answer, and their agents call a tool with an effect, while
// nodes are killed, stopped beyond their lease, and cut off from the shared log. What was acknowledged is in the log of
// each node, in one order, and no effect is there twice.
//
// Promise: cluster
func TestNodesUnderFaults(t *testing.T) {
	t.Parallel()
	rounds, base := crashSetting(t, storetest.EnvCrashRounds, nodeRounds), crashSetting(t, storetest.EnvCrashSeedBase, rand.Uint64())
	t.Logf("%d rounds; repeat with %s=%d", rounds, storetest.EnvCrashSeedBase, base)
	servers := natstest.One(t)
	var ways []*sharedtest.Proxy
	var logs []string
	for range 3 {
		way := sharedtest.NewProxy(t, servers.Address())
		ways, logs = append(ways, way), append(logs, "nats://"+way.Address()+"/team")
	}
	a := newNodes(t, 1, logs...)
	for _, n := range a.list {
		n.start(t)
	}
	r := rand.New(rand.NewPCG(base, 7))
	all := a.speak(t, 8, r)
	all.until(t, time.Now())
	asker := newAsker(t, a, r)
	took := map[string][]time.Duration{}
	for round := range rounds {
		fault := nodeFaults[r.IntN(len(nodeFaults))]
		if int(round) < 3 { // each short run has those that matter
			fault = nodeFaults[round]
		}
		asker.ask(4)
		took[fault] = append(took[fault], a.suffer(t, fault, ways, all, r))
	}
	asker.wait()
	all.stop()
	for fault, times := range took {
		slices.Sort(times)
		t.Logf("%s: first acknowledged message after p50 %v, p95 %v, at most %v (%d rounds)", fault, times[len(times)/2].Round(time.Millisecond),
			times[len(times)*95/100].Round(time.Millisecond), times[len(times)-1].Round(time.Millisecond), len(times))
	}
	a.finishRuns(t)
	a.settle(t)
	a.judge(t, all.acknowledged())
	once(t, effectsIn(t, a.effects), func(line string) bool { return strings.HasPrefix(line, "append") })
	t.Logf("%d messages acknowledged, %d runs accepted", len(all.acknowledged()), asker.accepted())
	if t.Failed() {
		t.Fatalf("seed %d", base)
	}
}

// suffer does one fault, waits until messages are acknowledged again, which is how long it took, and repairs it.
func (a *nodes) suffer(t *testing.T, fault string, ways []*sharedtest.Proxy, all *speakers, r *rand.Rand) time.Duration {
	t.Helper()
	a.acquaint(t)
	w := a.writer(t)
	f := a.others(w)[r.IntN(2)]
	at := time.Now()
	switch fault {
	case "kill the writer":
		w.v.kill()
		took := all.until(t, time.Now())
		w.start(t)
		return took
	case "stop the writer beyond its lease":
		w.signal(t, syscall.SIGSTOP)
		a.writer(t, a.others(w)...)
		took := all.until(t, at)
		w.signal(t, syscall.SIGCONT)
		eventually(t, "the node that was stopped follows", func() bool {
			s, err := w.status(t.Context())
			return err == nil && s.Role == cluster.Follower
		})
		return took
	case "cut the writer off":
		way := ways[slices.Index(a.list, w)]
		way.Cut()
		a.writer(t, a.others(w)...)
		took := all.until(t, at)
		way.Restore()
		eventually(t, "the node that was cut off follows", func() bool {
			s, err := w.status(t.Context())
			return err == nil && s.Role == cluster.Follower
		})
		return took
	case "kill a follower":
		f.v.kill()
		took := all.until(t, at)
		f.start(t)
		return took
	}
	if status, body := post(t, f.api+"/api/cluster/promote"); status != 200 {
		t.Logf("promote %s: %d %s", f.name, status, body) // the writer may have changed
	}
	took := all.until(t, at)
	a.writer(t)
	return took
}

// asker has agents call a tool, through any node, and repeats with the same id what was not accepted.
type asker struct {
	ctx   context.Context
	nodes *nodes
	rand  *rand.Rand
	going sync.WaitGroup

	mu      sync.Mutex
	asked   int
	accepts int
}

func newAsker(t *testing.T, a *nodes, r *rand.Rand) *asker {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	k := &asker{ctx: ctx, nodes: a, rand: rand.New(rand.NewPCG(r.Uint64(), 9))}
	t.Cleanup(func() {
		stop()
		k.going.Wait()
	})
	return k
}

func (k *asker) ask(n int) {
	for range n {
		k.mu.Lock()
		k.asked++
		id, at := k.asked, k.rand.IntN(len(k.nodes.list))
		agent := []string{"main", "eden", "seum"}[k.rand.IntN(3)]
		k.mu.Unlock()
		k.going.Go(func() { k.one(id, at, agent) })
	}
}

func (k *asker) one(id, at int, agent string) {
	for ; k.ctx.Err() == nil; at++ {
		if k.tries(id, k.nodes.list[at%len(k.nodes.list)].gateway, agent) {
			k.mu.Lock()
			k.accepts++
			k.mu.Unlock()
			return
		}
		brief := time.NewTimer(20 * time.Millisecond)
		<-brief.C
	}
}

func (k *asker) tries(id int, url, agent string) bool {
	ctx, stop := context.WithTimeout(k.ctx, 3*time.Second)
	defer stop()
	c, err := client.Dial(ctx, url, client.Options{Token: "secret"})
	if err != nil {
		return false
	}
	defer func() { _ = c.Close() }()
	_, err = c.Call(ctx, "agent", map[string]any{"message": fmt.Sprintf("append %d", id), "agentId": agent,
		"sessionKey": fmt.Sprintf("agent:%s:s%d", agent, id%3), "idempotencyKey": fmt.Sprint("run-", id)})
	return err == nil
}

func (k *asker) wait() { k.going.Wait() }

func (k *asker) accepted() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.accepts
}

// finishRuns waits until no run is queued or running.
func (a *nodes) finishRuns(t *testing.T) {
	t.Helper()
	eventually(t, "all runs have ended", func() bool {
		var answer struct {
			Work struct {
				Lanes []struct{ Waiting, Running int }
			}
		}
		text, err := get(t.Context(), a.writer(t).api+"/api/status")
		if err != nil || json.Unmarshal(text, &answer) != nil {
			return false
		}
		left := 0
		for _, l := range answer.Work.Lanes {
			left += l.Waiting + l.Running
		}
		return left == 0
	})
}
