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
	"github.com/pronto-lab/openclawd/services/messenger"
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
		Status, Code, Error, Hint, RunID, SessionKey, Label, Text string
		Killed, CascadeKilled                                     int
		Labels                                                    []string
	}
)

func list(h *fixture, c tool.Caller) listing {
	h.t.Helper()
	l, _ := call[listing](h, c, "subagents", `{}`)
	return l
}

// taskLines are the tasks of those listed, with their number and status.
func taskLines(all []listed) (lines []string) {
	for _, l := range all {
		lines = append(lines, fmt.Sprint(l.Index, " ", l.Label, " ", l.Status))
	}
	return lines
}

// A session sees its own sub-agents only: the active ones, and those that have ended lately.
func TestListShowsOnesOwn(t *testing.T) {
	t.Parallel()
	h := setup(t, setting{})
	done := h.started(messenger.SpawnRequest{Task: "look", Label: "first"})
	h.flowOver(done.JobID)
	h.started(messenger.SpawnRequest{Task: "wait for a", Agent: "seum"})
	h.started(messenger.SpawnRequest{From: caller("agent:eden:other"), Task: "wait for b"})
	h.arrives("a")
	h.arrives("b")

	own := list(h, eden())
	if diff := cmp.Diff([]string{"1 wait for a running"}, taskLines(own.Active)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"2 first done"}, taskLines(own.Recent)); diff != "" {
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

// Each name of a sub-agent finds it; other words find none, even if they look like the beginning of a name.
func TestKillFindsItsTarget(t *testing.T) {
	t.Parallel()
	h := setup(t, setting{})
	for round, c := range []struct{ target, want string }{ // of a and b, the names of those that are killed
		{"1", "b"}, {"2", "a"}, {"LAST", "b"}, {"%dalpha", "a"}, {"%dAL", "a"}, {"%dbeta", "b"}, {"run:a", "a"}, {"short:a", "a"}, {"few:a", ""}, {"key:b", "b"},
		{"all", "a b"}, {" ALL ", "a b"}, {"1000", ""}, {"0", ""}, {"stranger", ""}, {"agent:eden:main", ""}, {"", ""},
	} {
		a := h.started(messenger.SpawnRequest{Task: "wait for a", Label: fmt.Sprint(round, "alpha")})
		b := h.started(messenger.SpawnRequest{Task: "wait for b", Label: fmt.Sprint(round, "beta")})
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
		if out.IsError && (got.Error == "" || got.Hint == "" || got.Code == "") {
			t.Errorf("%q: it says %+v", c.target, got)
		}
		call[killed](h, eden(), "subagents", `{"action":"kill","target":"all"}`)
	}
}

// Two with the same label are not chosen between by chance.
func TestKillAsksWhichOne(t *testing.T) {
	t.Parallel()
	h := setup(t, setting{})
	h.started(messenger.SpawnRequest{Task: "wait for a", Label: "research one"})
	h.started(messenger.SpawnRequest{Task: "wait for a", Label: "research two"})
	got, out := call[killed](h, eden(), "subagents", `{"action":"kill","target":"research"}`)
	if !out.IsError || got.Error != "2 sub-agents match that" || len(list(h, eden()).Active) != 2 {
		t.Errorf("%+v", got)
	}
}

// A killed sub-agent takes its descendants along, even if one between them was over already.
func TestKillCascades(t *testing.T) {
	t.Parallel()
	h := setup(t, setting{config: `subagents: {maxSpawnDepth: 3}`})
	top := h.started(messenger.SpawnRequest{Task: "wait for top", Label: "top"})
	h.arrives("top")
	middle := h.started(messenger.SpawnRequest{From: caller(top.ChildSessionKey), Task: "wait for middle"})
	h.arrives("middle")
	bottom := h.started(messenger.SpawnRequest{From: caller(middle.ChildSessionKey), Task: "wait for bottom"})
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

// A sub-agent that may start none sees its siblings, and cannot kill them.
func TestLeafSeesItsSiblings(t *testing.T) {
	t.Parallel()
	h := setup(t, setting{})
	one := h.started(messenger.SpawnRequest{Task: "wait for one"})
	two := h.started(messenger.SpawnRequest{Task: "wait for two"})
	leaf := caller(one.ChildSessionKey)
	got := list(h, leaf)
	if got.RequesterSessionKey != "agent:eden:main" || !got.CallerIsSubagent || len(got.Active) != 2 {
		t.Errorf("%+v", got)
	}
	for _, target := range []string{two.RunID, one.RunID, "all"} {
		refused, out := call[killed](h, leaf, "subagents", `{"action":"kill","target":"`+target+`"}`)
		if !out.IsError || refused.Status != "forbidden" || refused.Hint == "" {
			t.Errorf("%s: %+v", target, refused)
		}
	}
	if len(list(h, eden()).Active) != 2 {
		t.Error("a sibling was killed")
	}
	h.opens("one")
	h.opens("two")
}

// Unsupported arguments are not ignored silently.
func TestSteerIsRefused(t *testing.T) {
	t.Parallel()
	h := setup(t, setting{})
	got, out := call[killed](h, eden(), "subagents", `{"action":"steer","target":"1","message":"rather do that"}`)
	if !out.IsError || got.Code != "not_supported" || !strings.Contains(got.Hint, "sessions_spawn") {
		t.Errorf("%+v", got)
	}
}
