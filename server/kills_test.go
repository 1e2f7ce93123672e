package server

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/database"
	"github.com/pronto-lab/openclawd/eventstore/storetest"
	"github.com/pronto-lab/openclawd/gateway/client"
	"github.com/pronto-lab/openclawd/server/settings"
)

// kills is a state directory whose server is killed in rounds.
type kills struct {
	dir          string
	rounds, base uint64
	asked        int // runs
}

// newKills has so many rounds, unless the environment says otherwise.
func newKills(t *testing.T, rounds uint64) *kills {
	t.Helper()
	k := &kills{dir: t.TempDir(), rounds: crashSetting(t, storetest.EnvCrashRounds, rounds), base: crashSetting(t, storetest.EnvCrashSeedBase, rand.Uint64())}
	t.Logf("%d rounds; repeat with %s=%d", k.rounds, storetest.EnvCrashSeedBase, k.base)
	return k
}

// configure writes the configuration and the script of the model that it names.
func (k *kills) configure(t *testing.T, conf, scriptName, script string) {
	t.Helper()
	for name, text := range map[string]string{settings.FileName: conf, scriptName: script} {
		if err := os.WriteFile(filepath.Join(k.dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// each calls a round with random numbers of its own, which differ by test, too.
func (k *kills) each(test uint64, round func(*rand.Rand)) {
	for n := range k.rounds {
		round(rand.New(rand.NewPCG(k.base+n, test)))
	}
}

// ask has an agent answer a message, and returns the run.
func (k *kills) ask(t *testing.T, c *client.Client, agent, session, message string) (runID string) {
	t.Helper()
	k.asked++
	runID = fmt.Sprint("run-", k.asked)
	calls[any](t, c, "agent", map[string]any{"message": message, "agentId": agent, "sessionKey": "agent:" + agent + ":" + session, "idempotencyKey": runID})
	return runID
}

// last starts the server that is not killed.
func (k *kills) last(t *testing.T) *reloading {
	t.Helper()
	return startReloading(t, nil, func(o *Options) {
		o.StateDir, o.DB, o.Gateway = k.dir, filepath.Join(k.dir, database.Name), "127.0.0.1:0"
	})
}

// end stops the last server, and says which seed has failed.
func (k *kills) end(t *testing.T, p *reloading) {
	t.Helper()
	if err := p.stop(); err != nil {
		t.Error(err)
	}
	if t.Failed() {
		t.Fatalf("seed %d", k.base)
	}
}

// upTo is a random time below most.
func upTo(r *rand.Rand, most time.Duration) time.Duration {
	return time.Duration(r.Int64N(int64(most)))
}

// killAfter kills a server after a time.
func killAfter(v *victim, after time.Duration) {
	soon := time.NewTimer(after)
	<-soon.C
	v.kill()
}

// toolPhase is a point of killing: the event of the gateway that a call of a tool begins or has ended.
func toolPhase(phase, tool string) string { return `"phase":"` + phase + `","name":"` + tool + `"` }

// connectTelling connects a client and says when an event of the gateway has come: one of a name, or with a text in it. The first ones are
// passed over. "" never comes.
func connectTelling(t *testing.T, url, point string, skip int) (c *client.Client, reached <-chan struct{}) {
	t.Helper()
	told := make(chan struct{}, 1)
	return connect(t, url, func(o *client.Options) {
		o.Caps = []string{"tool-events"}
		o.Event = func(e client.Event) {
			if point == "" || e.Name != point && !strings.Contains(string(e.Payload), point) {
				return
			}
			if skip--; skip < 0 {
				select {
				case told <- struct{}{}:
				default:
				}
			}
		}
	}), told
}

// effectsIn counts the lines of a file.
func effectsIn(t *testing.T, file string) map[string]int {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	times := map[string]int{}
	for line := range strings.Lines(string(text)) {
		times[strings.TrimSpace(line)]++
	}
	return times
}

// once checks that no effect is there more than once, of those that a filter wants.
func once(t *testing.T, times map[string]int, wants func(line string) bool) {
	t.Helper()
	for _, line := range slices.Sorted(maps.Keys(times)) {
		if times[line] > 1 && wants(line) {
			t.Errorf("%q had its effect %d times", line, times[line])
		}
	}
}
