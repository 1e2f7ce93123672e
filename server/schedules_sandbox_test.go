package server

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/schedule"
	"github.com/pronto-lab/openclawd/database"
	"github.com/pronto-lab/openclawd/internal/testscale"
	"github.com/pronto-lab/openclawd/server/settings"
)

// outsideTmp is a directory for a test that is not below /tmp.
func outsideTmp(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/var/tmp", "openclawd-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// awaitFinished waits until so many runs of jobs have ended, and returns their ends.
func awaitFinished(t *testing.T, p *reloading, n int) (all []coordination.CronRunFinished) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), testscale.Patience)
	defer stop()
	for after := int64(0); ; {
		events, err := p.Program.log.Read(ctx, after, 1_000)
		if err == nil && len(events) == 0 {
			_, err = p.Program.log.Wait(ctx, after+1)
		}
		if err != nil {
			t.Fatalf("%d of %d runs of jobs have ended: %v", len(all), n, err)
		}
		for i := range events {
			if after = events[i].Seq; events[i].Type != coordination.TypeCronRunFinished {
				continue
			}
			var d coordination.CronRunFinished
			if err := json.Unmarshal(events[i].Data, &d); err != nil {
				t.Fatal(err)
			}
			if all = append(all, d); len(all) == n {
				return all
			}
		}
	}
}

// The check of a job runs where the agent's own commands run: it reaches its workspace and nothing else, or, where no sandbox holds, does not run.
func TestChecksRunInTheSandbox(t *testing.T) {
	t.Parallel()
	dir := outsideTmp(t) // commands have a /tmp of their own
	conf := `{gateway: {auth: {mode: 'token', token: 'secret'}}, cron: {triggers: {enabled: true}}, agents: {entries: {eden: {default: true}}}}`
	if err := os.WriteFile(filepath.Join(dir, settings.FileName), []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	p := startReloading(t, nil, func(o *Options) { o.StateDir, o.DB = dir, filepath.Join(dir, database.Name) })
	outside := filepath.Join(dir, "outside")
	_, err := p.agents.schedules.Add(t.Context(), coordination.CronJob{Name: "look", Enabled: true, AgentID: "eden",
		Schedule: coordination.CronSchedule{Kind: schedule.KindAt, At: p.opts.Now().Add(time.Second).Format(time.RFC3339Nano)},
		Payload:  coordination.CronPayload{Kind: schedule.PayloadTurn, Message: "x"},
		Check:    &coordination.CronCheck{Command: []string{"sh", "-c", fmt.Sprintf("echo x > inside; echo x > '%s'; exit 1", outside)}}}, "test")
	if err != nil {
		t.Fatal(err)
	}
	finished := awaitFinished(t, p, 1)[0]
	_, inside := os.Stat(filepath.Join(p.workspaceOf("eden"), "inside"))
	ran := finished.Status == schedule.Skipped && inside == nil
	if refused := finished.Status == schedule.Error && strings.Contains(finished.Error, "no sandbox works here"); !ran && !refused {
		t.Errorf("it ended with %+v; the file of the workspace: %v", finished, inside)
	}
	if _, err := os.Stat(outside); !os.IsNotExist(err) {
		t.Errorf("it has reached a file outside: %v", err)
	}
	if err := p.stop(); err != nil {
		t.Error(err)
	}
}
