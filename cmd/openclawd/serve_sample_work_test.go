package main

import (
	"context"
	"encoding/json"
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
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/mcp/samplemcp"
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
	s.stateDir = home.Dir
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

type waitingApproval struct {
	ID, Kind, AgentID, TaskID, Title string
	Call                             struct{ Tool, Server string }
}

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

// wantStopped checks that an agent has read a file of its workspace and asked the MCP server, and is stopped before it publishes.
func (s *sampleServer) wantStopped(t *testing.T, plan waitingApproval) {
	t.Helper()
	if plan.AgentID != "nuri" || plan.Title != "지난주 지표 요약을 안내서에 올리기" {
		t.Errorf("%+v waits first", plan)
	}
	if got := s.outsideCalls(t); !slices.Equal(got, []string{samplemcp.Search}) {
		t.Errorf("the servers were asked for %q before the approval", got)
	}
	var said strings.Builder
	for _, e := range s.logged(t, coordination.TypeSessionMessage) {
		said.Write(e.Data)
	}
	for _, want := range []string{"주문 | 1,284건", "보고서는 세 문장으로", samplemcp.Publish + " needs an approved plan"} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("the session does not have %q", want)
		}
	}
}

// logged lists the events of a type, the oldest first.
func (s *sampleServer) logged(t *testing.T, typ string) (of []eventstore.Event) {
	t.Helper()
	log, err := database.OpenToRead(t.Context(), filepath.Join(s.stateDir, database.Name), s.now)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	for after := int64(0); ; {
		events, err := log.Read(t.Context(), after, 1_000)
		if err != nil {
			t.Fatal(err)
		}
		if len(events) == 0 {
			return of
		}
		after = events[len(events)-1].Seq
		for i := range events {
			if events[i].Type == typ {
				of = append(of, events[i])
			}
		}
	}
}

// outsideCalls lists the tools with an outside effect that were called, the oldest first.
func (s *sampleServer) outsideCalls(t *testing.T) (names []string) {
	t.Helper()
	for _, e := range s.logged(t, coordination.TypeToolCalled) {
		var call coordination.ToolCalled
		if err := json.Unmarshal(e.Data, &call); err != nil {
			t.Fatal(err)
		}
		names = append(names, call.Tool)
	}
	return names
}

// The sample's work goes on: after a while a call of a tool and a plan wait; what a visitor approves is done, what one rejects is cancelled, and
// then others wait. No more than three wait.
func TestSampleHasNewWork(t *testing.T) {
	t.Parallel()
	s := workedSample(t)
	waits := func(kind string) (found waitingApproval) {
		t.Helper()
		s.until(t, "a "+kind+" waits for approval", func([]sampleEvent) bool {
			all := s.approvals(t)
			if len(all) > 3 {
				t.Errorf("%d approvals wait: %+v", len(all), all)
			}
			for _, a := range all {
				if a.Kind == kind && a.TaskID != "task_m1" {
					found = a
					return true
				}
			}
			if len(all) == 3 { // others have come meanwhile, and no more do until a visitor decides about one
				in := slices.IndexFunc(all, func(a waitingApproval) bool { return a.TaskID != "task_m1" })
				s.decide(t, all[in].ID, "reject", `{"by":"visitor","reason":"something else first"}`)
			}
			s.ahead.Add(int64(2 * time.Second)) // an agent pauses for minutes between two tasks of its backlog
			return false
		})
		return found
	}
	report := waits("plan")
	s.wantStopped(t, report)
	s.decide(t, report.ID, "approve", `{"by":"visitor"}`)
	s.until(t, "what the plan asked for is done", func(all []sampleEvent) bool {
		return count(all, coordination.TypeTaskCompleted, report.TaskID) == 1
	})
	if got := s.outsideCalls(t); !slices.Equal(got, []string{samplemcp.Search, samplemcp.Publish}) {
		t.Errorf("the servers were asked for %q", got)
	}
	call := waits("call")
	if call.AgentID != "grim" || call.Call.Tool != samplemcp.Search || call.Call.Server != samplemcp.Name {
		t.Errorf("%+v waits", call)
	}
	s.decide(t, call.ID, "approve", `{"by":"visitor"}`)
	s.until(t, "grim ends its task", func(all []sampleEvent) bool {
		return slices.ContainsFunc(all, func(e sampleEvent) bool { return e.Type == coordination.TypeTaskCompleted && e.AgentID == "grim" })
	})
	if got := s.outsideCalls(t); !slices.Equal(got, []string{samplemcp.Search, samplemcp.Publish, samplemcp.Search}) {
		t.Errorf("the servers were asked for %q", got)
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

// A visitor finds a job, which runs at its time or on request.
func TestSampleBeginsWithAJob(t *testing.T) {
	t.Parallel()
	s := workedSample(t)
	s.until(t, "there is a job", func(all []sampleEvent) bool { return count(all, coordination.TypeCronJobAdded, "") == 1 })
	var answer struct {
		Jobs []struct {
			AgentID string
			Enabled bool
			State   struct{ NextAt int64 }
		}
	}
	s.get(t, "/api/schedules", &answer)
	if len(answer.Jobs) != 1 || !answer.Jobs[0].Enabled || answer.Jobs[0].AgentID != "nuri" || answer.Jobs[0].State.NextAt == 0 {
		t.Errorf("the jobs are %+v", answer.Jobs)
	}
}
