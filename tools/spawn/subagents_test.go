package spawn_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/tools/a2a"
)

// listing and killed are what subagents answers.
type (
	listing struct {
		Status, RequesterSessionKey, Text string
		CallerIsSubagent                  bool
		Active, Recent                    []listed
	}
	listed struct {
		Index                                                       int
		RunID, SessionKey, AgentID, Label, Task, Status, StartedAgo string
		RuntimeMs, EndedAt                                          int64
	}
	killed struct {
		Status, Code, Error, Mend, RunID, SessionKey, Label, Text string
		Killed, CascadeKilled                                     int
		Labels                                                    []string
	}
)

func list(h *house, c tool.Caller) listing {
	h.t.Helper()
	l, _ := call[listing](h, c, "subagents", `{}`)
	return l
}

// tasks are the tasks of those listed, with their number and status.
func tasks(all []listed) (lines []string) {
	for _, l := range all {
		lines = append(lines, fmt.Sprint(l.Index, " ", l.Label, " ", l.Status))
	}
	return lines
}

// A session sees its own sub-agents and nobody else's: those that work, and those that have ended lately.
func TestListShowsOnesOwn(t *testing.T) {
	t.Parallel()
	h := setup(t, setting{})
	done := h.started(a2a.SpawnRequest{Task: "look", Label: "first"})
	h.flowOver(done.JobID)
	h.started(a2a.SpawnRequest{Task: "wait for a", Agent: "seum"})
	h.started(a2a.SpawnRequest{From: caller("agent:eden:other"), Task: "wait for b"})
	h.arrives("a")
	h.arrives("b")

	own := list(h, eden())
	if diff := cmp.Diff([]string{"1 wait for a running"}, tasks(own.Active)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"2 first done"}, tasks(own.Recent)); diff != "" {
		t.Error(diff)
	}
	if a := own.Active[0]; a.AgentID != "seum" || !strings.HasPrefix(a.SessionKey, "agent:seum:subagent:") || a.Task != "wait for a" || a.StartedAgo == "" {
		t.Errorf("%+v", a)
	}
	if r := own.Recent[0]; r.RunID != done.RunID || r.SessionKey != done.ChildSessionKey || r.EndedAt == 0 || r.Task != "look" {
		t.Errorf("%+v", r)
	}
	if !strings.Contains(own.Text, "recent (last 30m)") || !strings.Contains(own.Text, "2. first") {
		t.Errorf("%s", own.Text)
	}
	if other := list(h, caller("agent:eden:other")); len(other.Active) != 1 || len(other.Recent) != 0 || other.Active[0].Label != "wait for b" {
		t.Errorf("%+v", other)
	}
	if none := list(h, caller("agent:eden:third")); len(none.Active)+len(none.Recent) != 0 {
		t.Errorf("%+v", none)
	}

	h.ahead.Store((31 * time.Minute).Milliseconds())
	if later := list(h, eden()); len(later.Active) != 1 || len(later.Recent) != 0 {
		t.Errorf("after half an hour: %+v", later)
	}
	if more, _ := call[listing](h, eden(), "subagents", `{"action":"list","recentMinutes":60}`); len(more.Recent) != 1 {
		t.Errorf("within an hour: %+v", more)
	}
	h.opens("a")
	h.opens("b")
}

// Each way to call a sub-agent finds it; what calls none finds none, also where it looks like the beginning of something.
func TestKillFindsItsTarget(t *testing.T) {
	t.Parallel()
	h := setup(t, setting{})
	for round, c := range []struct{ target, want string }{ // of a and b, the names of those that are killed
		{"1", "b"}, {"2", "a"}, {"LAST", "b"}, {"%dalpha", "a"}, {"%dAL", "a"}, {"%dbeta", "b"}, {"run:a", "a"}, {"short:a", "a"}, {"few:a", ""}, {"key:b", "b"},
		{"all", "a b"}, {" ALL ", "a b"}, {"1000", ""}, {"0", ""}, {"nobody", ""}, {"agent:eden:main", ""}, {"", ""},
	} {
		a := h.started(a2a.SpawnRequest{Task: "wait for a", Label: fmt.Sprint(round, "alpha")})
		b := h.started(a2a.SpawnRequest{Task: "wait for b", Label: fmt.Sprint(round, "beta")})
		target := strings.NewReplacer("run:a", a.RunID, "short:a", a.RunID[:8], "few:a", a.RunID[:7], "key:b", b.ChildSessionKey, "%d", fmt.Sprint(round)).
			Replace(c.target)
		args := fmt.Sprintf(`{"action":"kill","target":%q}`, target)
		if target == "" {
			args = `{"action":"kill"}`
		}
		got, out := call[killed](h, eden(), "subagents", args)
		var over []string
		for name, job := range map[string]string{"a": a.JobID, "b": b.JobID} {
			if !h.flow(job).Phase.Open() {
				over = append(over, name)
			}
		}
		slices.Sort(over)
		if strings.Join(over, " ") != c.want || got.Killed != len(over) || out.IsError != (c.want == "") {
			t.Errorf("%q: killed are %q, want %q: %+v", c.target, over, c.want, got)
		}
		if out.IsError && (got.Error == "" || got.Mend == "" || got.Code == "") {
			t.Errorf("%q: it says %+v", c.target, got)
		}
		call[killed](h, eden(), "subagents", `{"action":"kill","target":"all"}`)
	}
}

// Two that are called alike are not told apart by chance.
func TestKillAsksWhichOne(t *testing.T) {
	t.Parallel()
	h := setup(t, setting{})
	h.started(a2a.SpawnRequest{Task: "wait for a", Label: "research one"})
	h.started(a2a.SpawnRequest{Task: "wait for a", Label: "research two"})
	got, out := call[killed](h, eden(), "subagents", `{"action":"kill","target":"research"}`)
	if !out.IsError || got.Error != "2 sub-agents are called that" || len(list(h, eden()).Active) != 2 {
		t.Errorf("%+v", got)
	}
}

// Who is killed takes along what it has started, also where one between them was over already.
func TestKillCascades(t *testing.T) {
	t.Parallel()
	h := setup(t, setting{config: `subagents: {maxSpawnDepth: 3}`})
	top := h.started(a2a.SpawnRequest{Task: "wait for top", Label: "top"})
	h.arrives("top")
	middle := h.started(a2a.SpawnRequest{From: caller(top.ChildSessionKey), Task: "wait for middle"})
	h.arrives("middle")
	bottom := h.started(a2a.SpawnRequest{From: caller(middle.ChildSessionKey), Task: "wait for bottom"})
	h.arrives("bottom")
	h.opens("middle")
	h.flowOver(middle.JobID)

	got, _ := call[killed](h, eden(), "subagents", `{"action":"kill","target":"top"}`)
	if got.Killed != 2 || got.CascadeKilled != 1 {
		t.Errorf("%+v", got)
	}
	for _, job := range []string{top.JobID, bottom.JobID} {
		if row := h.flow(job); row.Outcome != coordination.OutcomeValueKilled {
			t.Errorf("%s: %+v", job, row)
		}
	}
	if told := h.told("agent:eden:main"); len(told) != 0 {
		t.Errorf("told are %q", told)
	}
}

// A sub-agent that may start none sees its siblings, and leaves them alone.
func TestLeafSeesItsSiblings(t *testing.T) {
	t.Parallel()
	h := setup(t, setting{})
	one := h.started(a2a.SpawnRequest{Task: "wait for one"})
	two := h.started(a2a.SpawnRequest{Task: "wait for two"})
	leaf := caller(one.ChildSessionKey)
	got := list(h, leaf)
	if got.RequesterSessionKey != "agent:eden:main" || !got.CallerIsSubagent || len(got.Active) != 2 {
		t.Errorf("%+v", got)
	}
	for _, target := range []string{two.RunID, one.RunID, "all"} {
		refused, out := call[killed](h, leaf, "subagents", `{"action":"kill","target":"`+target+`"}`)
		if !out.IsError || refused.Status != "forbidden" || refused.Mend == "" {
			t.Errorf("%s: %+v", target, refused)
		}
	}
	if len(list(h, eden()).Active) != 2 {
		t.Error("a sibling was killed")
	}
	h.opens("one")
	h.opens("two")
}

// Nothing is taken and forgotten: what is not there says so.
func TestSteerIsRefused(t *testing.T) {
	t.Parallel()
	h := setup(t, setting{})
	got, out := call[killed](h, eden(), "subagents", `{"action":"steer","target":"1","message":"rather do that"}`)
	if !out.IsError || got.Code != "not_supported" || !strings.Contains(got.Mend, "sessions_spawn") {
		t.Errorf("%+v", got)
	}
}
