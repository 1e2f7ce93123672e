package messenger_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/eventstore/storetest"
	"github.com/pronto-lab/openclawd/internal/testscale"
	"github.com/pronto-lab/openclawd/projections/flows"
	"github.com/pronto-lab/openclawd/services/messenger"
	"github.com/pronto-lab/openclawd/tools/a2atest"
)

// crashRounds is the default number of kills of the crash scenario.
var crashRounds = testscale.Of(3, 6)

// broadcasting sends one broadcast after the other, the last one of the process before once more. Each acknowledgement is "<n> <work session>".
var broadcasting = storetest.Scenario{
	Name: "broadcast",
	Prepare: func(t testing.TB, dir string) {
		file, err := emptyLog()
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, emptyFile), file, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	},
	Work: func(c *storetest.Child) error {
		path := crashLog(c.Dir, 1)
		if err := putEmptyLog(c.Dir, path); err != nil {
			return err
		}
		a := &alone{dir: c.Dir}
		defer a.end()
		team := a2atest.New(a, silentCrowd(a, path))
		for n := max(len(team.Flows())/crashCrowd-1, 0); ; n++ {
			r, err := team.Broadcast(context.Background(), messenger.Broadcast{Targets: crowd(crashCrowd),
				Request: team.Message("eden", "", fmt.Sprint("message ", n), func(r *messenger.Request) { r.Key = fmt.Sprint("k", n) })})
			if err == nil && (r.Status != "accepted" || r.Sent != crashCrowd) {
				err = fmt.Errorf("message %d: %+v", n, r)
			}
			if err != nil {
				return err
			}
			c.Ack(fmt.Sprint(n, " ", r.WorkSessionID))
		}
	},
	Check: func(t testing.TB, dir string, acked []string) {
		path := crashLog(dir, 1)
		if _, err := os.Stat(path); err != nil {
			return // it was killed before it began
		}
		team := a2atest.New(t, silentCrowd(t, path))
		defer team.Close()
		had := map[string][]flows.Row{}
		for _, f := range team.Flows() {
			had[f.WorkSessionID] = append(had[f.WorkSessionID], f)
		}
		said, names := map[string]string{}, map[string]bool{}
		for ws, list := range had {
			targets := map[string]bool{}
			for _, f := range list {
				targets[f.ToAgent] = true
				if f.Preview != list[0].Preview {
					t.Errorf("work session %s has %q and %q", ws, f.Preview, list[0].Preview)
				}
			}
			if len(list) != crashCrowd || len(targets) != crashCrowd || names[list[0].Preview] {
				t.Errorf("%q went to %d of %d agents in %d flows, sent before: %v", list[0].Preview, len(targets), crashCrowd, len(list), names[list[0].Preview])
			}
			names[list[0].Preview], said[ws] = true, list[0].Preview
		}
		for _, one := range acked {
			n, ws, _ := strings.Cut(one, " ")
			if said[ws] != "message "+n {
				t.Errorf("message %s was acknowledged in %s; there it is %q", n, ws, said[ws])
			}
		}
	},
}

// crashCrowd is to how many agents each broadcast of the crash scenario goes.
const crashCrowd = 8

// silentCrowd is a team without answers.
func silentCrowd(t testing.TB, path string) a2atest.Setting {
	return a2atest.Setting{
		Path: path, Asleep: true, Agents: append([]string{"eden"}, crowd(crashCrowd)...), Models: "http://127.0.0.1:1/v1", Logs: t.Output(),
		Open: func(path string) (a2atest.Store, error) {
			return sqlite.Open(context.Background(), sqlite.Options{Path: path})
		},
	}
}

// A kill leaves a broadcast sent to all or to none; what was acknowledged is there, and a repetition sends it once.
func TestCrashWhileBroadcasting(t *testing.T) {
	t.Parallel()
	storetest.Crash(t, broadcasting, crashRounds)
}
