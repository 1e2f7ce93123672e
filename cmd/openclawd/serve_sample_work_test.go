package main

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/database"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/server"
	"github.com/pronto-lab/openclawd/server/settings"
)

// workedSample is the server of the sample, whose team gets new work as soon as it rests.
func workedSample(t *testing.T) *sampleServer {
	t.Helper()
	s := &sampleServer{began: time.Now()}
	home, err := newSampleHome(s.began)
	if err != nil {
		t.Fatal(err)
	}
	ready := make(chan string, 1)
	program := server.New(server.Options{StateDir: home.Dir, DB: filepath.Join(home.Dir, database.Name), API: "127.0.0.1:0", Gateway: settings.NoGateway,
		Rules: coordination.RulesV2, Now: s.now, Logger: slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelError})),
		Durability: sqlite.DurabilityRelaxed, NoUI: true, SampleWork: 20 * time.Millisecond,
		Ready: func(api, _ net.Addr) { ready <- "http://" + api.String() }})
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- program.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if err := program.Close(); err != nil {
			t.Error(err)
		}
		if err := home.Remove(); err != nil {
			t.Error(err)
		}
	})
	select {
	case s.api = <-ready:
	case err := <-ended:
		ended <- err
		t.Fatalf("it ended: %v", err)
	}
	return s
}

type waitingApproval struct{ ID, Kind, AgentID, TaskID, Title string }

func (s *sampleServer) approvals(t *testing.T) []waitingApproval {
	t.Helper()
	var answer struct{ Approvals []waitingApproval }
	s.get(t, "/api/approvals", &answer)
	return answer.Approvals
}

func (s *sampleServer) decide(t *testing.T, id, what, body string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.api+"/api/approvals/"+id+"/"+what, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if text, _ := io.ReadAll(answer.Body); answer.StatusCode != http.StatusOK {
		t.Fatalf("%s %s: %d %s", what, id, answer.StatusCode, text)
	}
}

// The sample's work goes on: after a while a second approval waits, a plan; what a visitor approves is done, what one rejects is cancelled, and
// then others wait. No more than two wait.
func TestSampleHasNewWork(t *testing.T) {
	t.Parallel()
	s := workedSample(t)
	waits := func(kind string) (found waitingApproval) {
		t.Helper()
		s.until(t, "a "+kind+" waits for approval", func([]sampleEvent) bool {
			all := s.approvals(t)
			if len(all) > 2 {
				t.Errorf("%d approvals wait: %+v", len(all), all)
			}
			at := slices.IndexFunc(all, func(a waitingApproval) bool { return a.Kind == kind && a.TaskID != "task_m1" })
			if at >= 0 {
				found = all[at]
			}
			return at >= 0
		})
		return found
	}
	first := waits("plan")
	if first.Title == "" {
		t.Errorf("the plan has no title: %+v", first)
	}
	s.decide(t, first.ID, "approve", `{"by":"visitor"}`)
	s.until(t, "the task of the approved plan is completed", func(all []sampleEvent) bool {
		return count(all, coordination.TypeTaskCompleted, first.TaskID) == 1
	})
	s.decide(t, "task_m1", "reject", `{"by":"visitor","reason":"not now"}`)
	second := waits("plan")
	s.decide(t, second.ID, "reject", `{"by":"visitor","reason":"not like this"}`)
	s.until(t, "the task of the rejected plan is cancelled", func(all []sampleEvent) bool {
		return count(all, coordination.TypeTaskCancelled, second.TaskID) == 1
	})
	task := waits("task")
	s.decide(t, task.ID, "approve", `{"by":"visitor"}`)
	all := s.until(t, "the approved task is completed", func(all []sampleEvent) bool {
		return count(all, coordination.TypeTaskCompleted, task.TaskID) == 1
	})
	for _, e := range all {
		switch e.Type {
		case coordination.TypeRunFailed, coordination.TypeContinuationBackoff, coordination.TypeWorkDead:
			t.Errorf("there is %+v", e)
		}
	}
}
