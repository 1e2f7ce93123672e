package scheduler_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/agent/worker"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/schedule"
	"github.com/pronto-lab/openclawd/internal/testscale"
	"github.com/pronto-lab/openclawd/services/scheduler"
)

// checked carries out the checks that are queued, until something is so.
func (p *plan) checked(until func() bool) {
	p.t.Helper()
	ctx, stop := context.WithTimeout(p.t.Context(), testscale.Patience)
	w := worker.New(worker.Options{Log: p.db, Handlers: map[string]worker.Handler{scheduler.CheckKind: p.Checks()},
		Pools: func() map[string]int { return map[string]int{scheduler.CheckPool: 1} }, Now: func() time.Time { return p.now }})
	ended := make(chan error)
	go func() { ended <- w.Run(ctx) }()
	for !until() {
		head, err := p.db.Head(ctx)
		if err == nil && !until() {
			_, err = p.db.Wait(ctx, head.Seq+1)
		}
		if err != nil {
			p.t.Fatal(err)
		}
	}
	stop()
	if err := <-ended; err != nil {
		p.t.Fatal(err)
	}
}

// A check decides without a model whether the agent runs, which is told what was found.
func TestCheckDecides(t *testing.T) {
	t.Parallel()
	p := newPlan(t, `{"cron": {"triggers": {"enabled": true}}, "tools": {"exec": {"sandbox": "off"}}, `+strings.TrimPrefix(settings, "{"))
	j := p.add(every(time.Hour), func(j *coordination.CronJob) {
		j.Check = &coordination.CronCheck{Command: []string{"sh", "-c", "test -f broken && exit 7; test -f mail || exit 1; cat mail"}}
	})
	beat := func() (status, why string) {
		t.Helper()
		p.now = p.now.Add(2 * time.Hour) // later than any back-off
		p.look()
		before := len(p.history(j.Job.ID))
		p.checked(func() bool { return len(p.openRuns()) > 0 || len(p.history(j.Job.ID)) > before })
		p.finish(false)
		list := p.history(j.Job.ID)
		last := list[len(list)-1]
		return last.Status, last.End.Error
	}
	if status, why := beat(); status != schedule.Skipped || why != "there is nothing to do" {
		t.Errorf("nothing to do: %s, %s", status, why)
	}
	if err := os.WriteFile(filepath.Join(p.dir, "mail"), []byte("three letters"), 0o600); err != nil {
		t.Fatal(err)
	}
	if status, why := beat(); status != schedule.OK {
		t.Errorf("something to do: %s, %s", status, why)
	}
	events, err := p.db.Read(t.Context(), 0, 1_000)
	if err != nil {
		t.Fatal(err)
	}
	told := false
	for _, e := range events {
		told = told || e.Type == coordination.TypeRunQueued && strings.Contains(string(e.Data), "three letters")
	}
	if !told {
		t.Error("the agent is not told what was found")
	}
	if err := os.WriteFile(filepath.Join(p.dir, "broken"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if status, why := beat(); status != schedule.Error || !strings.Contains(why, "exit status 7") {
		t.Errorf("a broken check: %s, %s", status, why)
	}
}
