//go:build unix

package move_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/eventstore/shared/jetstream/natstest"
	"github.com/pronto-lab/openclawd/internal/testscale"
	"github.com/pronto-lab/openclawd/maintenance/move"
)

// A process with this variable moves the database that it names, and says each step.
const envMove, envTo = "OPENCLAWD_TEST_MOVE", "OPENCLAWD_TEST_MOVE_TO"

func TestMain(m *testing.M) {
	path := os.Getenv(envMove)
	if path == "" {
		os.Exit(m.Run())
	}
	o := options(path, "", os.Getenv(envTo))
	o.Tell = func(step string, done, _ int64) { fmt.Println(step, done) }
	if _, err := move.Run(context.Background(), o); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// Promise: move-store
func TestAMoveThatIsKilledIsResumed(t *testing.T) {
	t.Parallel()
	servers := natstest.One(t)
	path := newTeam(t, 1500)
	var want state
	run(t, path, "", "", func(n *node) { want = n.state(t) })
	for round := range testscale.Of(3, 20) {
		url := fmt.Sprintf("nats://%s/team%d", servers.Address(), round)
		killed := exec.Command(os.Args[0])
		killed.Env = append(os.Environ(), envMove+"="+path, envTo+"="+url)
		said, err := killed.StdoutPipe()
		if err == nil {
			err = killed.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(said)
		for n := 0; n <= 1+3*round && lines.Scan(); n++ {
		}
		_ = killed.Process.Kill()
		_ = killed.Wait()
		report, err := move.Run(t.Context(), options(path, "", url))
		if err != nil || report.Found+report.Copied != want.Head.Seq {
			t.Fatalf("round %d: %+v, %v", round, report, err)
		}
		run(t, path, url, "a", func(n *node) {
			if diff := cmp.Diff(want, n.state(t)); diff != "" {
				t.Errorf("round %d (-before +after):\n%s", round, diff)
			}
		})
	}
}
