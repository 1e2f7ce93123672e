//go:build !race

// These compare whole tables or all answers again and again: the race detector finds nothing here that the other tests do not show, and takes minutes.

package monitor_test

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/internal/testscale"
	"github.com/pronto-lab/openclawd/monitor"
	"github.com/pronto-lab/openclawd/monitor/monitortest"
	"github.com/pronto-lab/openclawd/workspace"
)

// Every read as of an event returns, byte by byte, the answer that it gave when that event was the last one.
//
// Promise: as-of
func TestAsOfMatchesRecordedAnswers(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	names := []string{"5-tasks", "1-every-type", "2-sessions", "3-runs", "4-flows", "6-continuation", "7-discord"}
	for _, name := range names[:testscale.Of(1, len(names))] {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setupPast(t, func(o *monitor.Options) {
				o.OwnTasks, o.Policy, o.PolicyMatrix = &monitor.OwnTasks{Team: teamThen}, policyThen, matrixThen
				o.Names = strings.NewReplacer("<@1002>", "이든 봇", "<#800000000000000001>", "#일반").Replace
				o.Workspace = workspace.New(t.TempDir(), workspace.Options{})
			})
			ownTeam(b)
			chance := rand.New(rand.NewPCG(seed, 1))
			recorded := b.tell(t, chance, golden(t, name), 3)
			b.now.Add(30 * 24 * 3_600_000)
			chance.Shuffle(len(recorded), func(i, j int) { recorded[i], recorded[j] = recorded[j], recorded[i] })
			for _, r := range recorded {
				if r.Found() < 20 {
					t.Errorf("only %d answers hold something as of %d", r.Found(), r.Seq)
				}
				r.Check(t, b.asks(t))
			}
			if t.Failed() {
				t.Logf("seed %d", seed)
			}
		})
	}
}

// Where another gateway keeps the tasks, the log does not contain its files.
func TestAsOfRefusesWhatStoodInFiles(t *testing.T) {
	t.Parallel()
	b := setupPast(t)
	lines, err := os.ReadFile(filepath.Join("..", "testdata", "golden", "1-imported.lines"))
	if err != nil {
		t.Fatal(err)
	}
	var recorded []*monitortest.Recording
	for part := range slices.Chunk(slices.Collect(strings.Lines(string(lines))), 11) {
		b.now.Add(60_000)
		b.importing(t, strings.Join(part, ""))
		recorded = append(recorded, monitortest.Record(t, b.asks(t), "배포", "ws"))
	}
	for _, r := range recorded {
		r.Check(t, b.asks(t), "/api/agents", "/api/approvals", "/api/team-state")
	}
}
