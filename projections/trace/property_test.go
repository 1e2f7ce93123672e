package trace_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/projections/projectiontest"
	"github.com/pronto-lab/openclawd/projections/trace"
)

// model is what a history has, and what each came from: kept in the simplest way.
type model struct {
	parent  map[string]string // of "run x" and "flow x"; "" of what came from nothing
	session map[string]string // the work session of each
	open    []string          // runs
	key     map[string]string // sessions of runs
	job     map[string]string // flows of runs
}

// history appends a random history of runs and flows.
func history(t testing.TB, rt *rapid.T, s *projectiontest.Story) *model {
	m := &model{parent: map[string]string{}, session: map[string]string{}, key: map[string]string{}, job: map[string]string{}}
	sessions := rapid.SampledFrom([]string{"", "ws_1", "ws_2"})
	for i := range rapid.IntRange(1, 25).Draw(rt, "events") {
		s.After(int64(rapid.IntRange(0, 3).Draw(rt, "ms")))
		var some string
		if len(m.open) > 0 {
			some = rapid.SampledFrom(m.open).Draw(rt, "run")
		}
		switch what := rapid.SampledFrom([]string{"ask", "send", "send", "start", "end", "end", "repeat", "child"}).Draw(rt, "what"); {
		case what == "ask" || some == "":
			m.queue(s, fmt.Sprintf("run-%d", i), fmt.Sprintf("agent:eden:s%d", i%4), sessions.Draw(rt, "session"), "", "", "")
		case what == "send":
			m.send(s, fmt.Sprintf("flow-%d", i), some, sessions.Draw(rt, "session"), rapid.Bool().Draw(rt, "dispatched"))
		case what == "start":
			s.Start("eden", some)
		case what == "end":
			m.end(s, some)
		case what == "repeat":
			m.end(s, some)
			m.queue(s, fmt.Sprintf("again-%d", i), m.key[some], m.session["run "+some], m.job[some], some, "")
		case what == "child" && m.session["run "+some] != "":
			m.queue(s, fmt.Sprintf("child-%d", i), m.key[some], m.session["run "+some], "", "", some)
		}
	}
	return m
}

func (m *model) queue(s *projectiontest.Story, id, key, session, job, retryOf, parentRun string) {
	s.Queue("eden", coordination.RunQueued{RunID: id, SessionKey: key, JobID: job, RetryOf: retryOf, Message: "?",
		Context: coordination.Context{WorkSessionID: session, ParentRunID: parentRun}})
	name := "run " + id
	m.session[name], m.key[id], m.job[id] = session, key, job
	switch {
	case retryOf != "":
		m.parent[name] = "run " + retryOf
	case job != "":
		m.parent[name] = "flow " + job
	case parentRun != "":
		m.parent[name] = "run " + parentRun
	default:
		m.parent[name] = ""
	}
	m.open = append(m.open, id)
}

func (m *model) send(s *projectiontest.Story, id, requester, session string, dispatched bool) {
	context := coordination.Context{WorkSessionID: session, ConversationID: "conv-" + id}
	s.Say(coordination.JobStream(id), coordination.TypeA2AJobCreated, "eden", coordination.A2AJobCreated{Context: context, JobID: id, Kind: "send", FromAgent: "eden",
		ToAgent: "seum", Phase: "waiting", RequesterSessionKey: m.key[requester], RequesterRunID: requester, TargetSessionKey: "agent:seum:a2a:conv-" + id})
	s.Say("", coordination.TypeA2ASend, "eden", coordination.A2ASend{Context: context, FromAgent: "eden", ToAgent: "seum", JobID: id, Message: "?"})
	m.parent["flow "+id], m.session["flow "+id] = "run "+requester, session
	if dispatched {
		m.queue(s, id, "agent:seum:a2a:conv-"+id, session, id, "", "")
	}
}

func (m *model) end(s *projectiontest.Story, id string) {
	s.End("eden", coordination.TypeRunEnded, coordination.RunOver{RunID: id})
	m.open = slices.DeleteFunc(m.open, func(open string) bool { return open == id })
}

// expected is what belongs into a trace: the nodes asked for, what they led to, and what they come from.
func (m *model) expected(asked func(name string) bool) map[string]bool {
	above := func(name string) (list []string) {
		for ; name != ""; name = m.parent[name] {
			list = append(list, name)
		}
		return list
	}
	want := map[string]bool{}
	for name := range m.parent {
		line := above(name)
		if asked(name) {
			for _, a := range line {
				want[a] = true
			}
		}
		if slices.ContainsFunc(line, asked) {
			want[name] = true
		}
	}
	return want
}

// The trace of a random history ends, and shows each run and flow that belongs into it, once, and below what it came from.
func TestTraceShowsEachOnce(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		db := setup(t)
		s := projectiontest.Tell(t, db, base)
		m := history(t, rt, s)
		ids := map[string]func(string) bool{}
		for _, ws := range []string{"ws_1", "ws_2"} {
			if slices.Contains(slices.Collect(maps.Values(m.session)), ws) {
				ids[ws] = func(name string) bool { return m.session[name] == ws }
			}
		}
		for name := range m.parent {
			_, id, _ := strings.Cut(name, " ")
			if _, flow := m.parent["flow "+id]; name == "run "+id && flow {
				continue // that id is the flow's
			}
			ids[id] = func(n string) bool { return n == name }
		}
		for id, asked := range ids {
			found := traced(t, db, id, trace.Options{Now: s.Now})
			want := m.expected(asked)
			for _, n := range nodes(found) {
				name := string(n.Kind) + " " + n.ID
				if !want[name] {
					rt.Fatalf("%s: %s is there twice, or does not belong there: %q", id, name, outline(found))
				}
				delete(want, name)
				for _, c := range n.Children {
					if m.parent[string(c.Kind)+" "+c.ID] != name {
						rt.Fatalf("%s: %s is below %s: %q", id, c.ID, name, outline(found))
					}
				}
			}
			if len(want) > 0 || found.Cut {
				rt.Fatalf("%s: %v are not there, cut %v: %q", id, want, found.Cut, outline(found))
			}
		}
		if err := db.Close(); err != nil {
			rt.Fatal(err)
		}
	})
}
