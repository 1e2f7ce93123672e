package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/database"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/internal/testscale"
	"github.com/pronto-lab/openclawd/tools/milestone"
)

// sampleServer is openclawd serve --sample in this process. Its clock is the machine's, set forward.
type sampleServer struct {
	api, gateway, stateDir string
	began                  time.Time
	ahead                  atomic.Int64 // ns
}

func (s *sampleServer) now() time.Time { return time.Now().Add(time.Duration(s.ahead.Load())) }

func (s *sampleServer) process(stdout, stderr io.Writer, args ...string) *process {
	return &process{args: args, stdout: stdout, stderr: stderr, getenv: func(string) string { return "" }, now: s.now}
}

func serveSample(t *testing.T) *sampleServer {
	t.Helper()
	s := &sampleServer{began: time.Now()}
	said, out := io.Pipe()
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan int, 1)
	var errs strings.Builder
	go func() {
		ended <- execute(ctx, s.process(out, &errs, "serve", "--sample", "--api", "127.0.0.1:0", "--gateway", "127.0.0.1:0"))
		_ = out.Close()
	}()
	t.Cleanup(func() {
		stop()
		if code := <-ended; code != exitOK {
			t.Errorf("exit code %d: %s", code, errs.String())
		}
	})
	tells := map[string]*string{"listening on (.*)": &s.api, "gateway on (.*)": &s.gateway, ".* --state-dir (.*)": &s.stateDir}
	for lines := bufio.NewScanner(said); s.api == "" || s.gateway == "" || s.stateDir == ""; {
		if !lines.Scan() {
			t.Fatalf("it ended: %s", errs.String())
		}
		for words, is := range tells {
			if found := regexp.MustCompile("^" + words + "$").FindStringSubmatch(lines.Text()); found != nil {
				*is = found[1]
			}
		}
	}
	go func() { _, _ = io.Copy(io.Discard, said) }()
	return s
}

// get reads an answer of the API; it reports whether there is one yet, of those that wait for an event.
func (s *sampleServer) get(t *testing.T, path string, into any) bool {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.api+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	switch {
	case err != nil:
		t.Fatal(err)
	case answer.StatusCode == http.StatusServiceUnavailable:
		return false
	case answer.StatusCode != http.StatusOK:
		t.Fatalf("GET %s: %d %s", path, answer.StatusCode, text)
	}
	if err := json.Unmarshal(text, into); err != nil {
		t.Fatalf("GET %s: %v in %s", path, err, text)
	}
	return true
}

type sampleEvent struct {
	Type, AgentID string
	Data          struct{ TaskID, StepID, Reason, Message, Outcome string }
}

// until gives the events since the server began, the oldest first, as soon as it is so. It waits for events, not for time.
func (s *sampleServer) until(t *testing.T, what string, is func([]sampleEvent) bool) []sampleEvent {
	t.Helper()
	seq := int64(1)
	for late := time.Now().Add(testscale.Patience); ; {
		var answer struct {
			Events  []sampleEvent
			AsOfSeq int64
		}
		if s.get(t, fmt.Sprintf("/api/events?scope=all&limit=500&since=%d&min_seq=%d", s.began.UnixMilli(), seq), &answer) {
			slices.Reverse(answer.Events)
			if is(answer.Events) {
				return answer.Events
			}
			seq = answer.AsOfSeq + 1
		}
		if time.Now().After(late) {
			t.Fatalf("it is not so that %s; events: %+v", what, answer.Events)
		}
	}
}

func count(events []sampleEvent, typ, task string) (n int) {
	for _, e := range events {
		if e.Type == typ && (task == "" || e.Data.TaskID == task) {
			n++
		}
	}
	return n
}

// restful reports whether nothing is going to be done about any agent, whatever time it is.
func (s *sampleServer) restful(t *testing.T) bool {
	t.Helper()
	var answer struct {
		Agents []struct {
			AgentID  string
			Decision struct {
				Kind          string
				LookAgainAtMs int64
			}
		}
	}
	if !s.get(t, "/api/continuation", &answer) || len(answer.Agents) == 0 {
		t.Fatalf("no agents: %+v", answer)
	}
	for _, a := range answer.Agents {
		if a.Decision.Kind != "nothing" || a.Decision.LookAgainAtMs != 0 {
			return false
		}
	}
	return true
}

// asksNoHub checks that nothing was asked of the Task-Hub of the person who looks, nor is going to be.
func (s *sampleServer) asksNoHub(t *testing.T) {
	t.Helper()
	log, err := database.OpenToRead(t.Context(), filepath.Join(s.stateDir, database.Name), s.now)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	completed := 0
	for after := int64(0); ; {
		events, err := log.Read(t.Context(), after, 1_000)
		if err != nil {
			t.Fatal(err)
		}
		if len(events) == 0 {
			break
		}
		after = events[len(events)-1].Seq
		for i := range events {
			e := &events[i]
			var data struct{ Kind, TaskID string }
			if err := json.Unmarshal(e.Data, &data); err != nil {
				t.Fatal(err)
			}
			switch {
			case e.Actor == eventstore.ActorImport:
			case e.Type == coordination.TypeTaskCompleted:
				completed++
			case e.Type == coordination.TypeWorkScheduled && data.Kind == milestone.Kind, e.Type == coordination.TypeWorkDead:
				t.Errorf("%s: %s, want no work for Task-Hub, and none that is given up", e.Type, e.Data)
			}
		}
	}
	if completed != 5 {
		t.Errorf("the log has %d tasks that are completed, want 5", completed)
	}
}

// A visitor of the sample sees its agents go on with their tasks, one step after the other, until there is nothing left that they can do.
func TestSampleFinishesItsTasksByItself(t *testing.T) {
	t.Parallel()
	s := serveSample(t)
	s.until(t, "the tasks that are in progress, and the blocked one, are over", func(all []sampleEvent) bool {
		return count(all, coordination.TypeTaskCompleted, "") >= 3 && count(all, coordination.TypeRunQueued, "") == count(all, coordination.TypeRunEnded, "")
	})
	if s.restful(t) {
		t.Fatal("nothing is going to be done about the tasks in the backlogs")
	}
	s.ahead.Store(int64(10 * time.Minute)) // the backlog waits for two minutes without a run
	if code := execute(t.Context(), s.process(io.Discard, io.Discard, "agent", "hello", "--agent", "ruda", "--url", s.gateway, "--state-dir", s.stateDir)); code != exitOK {
		t.Fatalf("ruda does not answer: exit code %d", code) // the log moves, and so clocks are looked at
	}
	all := s.until(t, "the tasks of the backlogs are over, and all is quiet", func(all []sampleEvent) bool {
		return count(all, coordination.TypeTaskCompleted, "task_dd44") > 0 && count(all, coordination.TypeTaskCompleted, "task_s2") > 0 && s.restful(t)
	})
	prompts := map[string]int{}
	for _, e := range all {
		switch e.Type {
		case coordination.TypeContinuationSent:
			prompts[strings.Join([]string{e.AgentID, e.Data.TaskID, e.Data.Reason, e.Data.StepID}, " ")]++
		case coordination.TypeContinuationBackoff, coordination.TypeUnblockFailed, coordination.TypeZombieAbandoned, coordination.TypeRunFailed,
			coordination.TypeResumeReminderSent:
			t.Errorf("there is %+v", e)
		}
	}
	want := map[string]int{
		"seum task_s1 idle ":    1,
		"seum task_s2 backlog ": 1, "seum task_s2 self_driving s1": 1, "seum task_s2 self_driving s2": 1,
		"eden task_aa11 idle s2": 1, "eden task_aa11 self_driving s3": 1,
		"eden task_bb22 steps_missing ": 1, "eden task_bb22 self_driving s1": 1, "eden task_bb22 self_driving s2": 1,
		"eden task_dd44 backlog ": 1, "eden task_dd44 self_driving s1": 1, "eden task_dd44 self_driving s2": 1,
	}
	if diff := cmp.Diff(want, prompts); diff != "" {
		t.Errorf("prompts (-want +got):\n%s", diff)
	}
	for _, id := range []string{"task_aa11", "task_bb22", "task_dd44", "task_s1", "task_s2"} {
		if n := count(all, coordination.TypeTaskCompleted, id); n != 1 {
			t.Errorf("%s is completed %d times, want once", id, n)
		}
	}
	var waiting struct {
		Approvals []struct {
			ID, Kind, TaskID string
			StepsCount       int
		}
	}
	if s.get(t, "/api/approvals", &waiting); len(waiting.Approvals) != 1 || waiting.Approvals[0].Kind != "task" || waiting.Approvals[0].TaskID != "task_m1" || waiting.Approvals[0].StepsCount != 2 {
		t.Errorf("%+v waits for approval, want a task that a visitor can approve", waiting)
	}
	s.asksNoHub(t)
	s.wantReadable(t)
	if asked, resumed := count(all, coordination.TypeUnblockRequested, ""), count(all, coordination.TypeTaskResumed, "task_bb22"); asked != 1 || resumed != 1 {
		t.Errorf("%d requests to unblock, and %d times task_bb22 is resumed; want one of each", asked, resumed)
	}
	if !slices.ContainsFunc(all, func(e sampleEvent) bool {
		return e.Type == coordination.TypeA2AResponse && e.AgentID == "seum" && strings.Contains(e.Data.Message, "모델이 설정되지 않아")
	}) {
		t.Error("seum does not say, in Korean, that no model is configured")
	}
}
