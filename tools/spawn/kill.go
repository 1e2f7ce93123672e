package spawn

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/a2a"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/projections/flows"
	"github.com/pronto-lab/openclawd/tools"
)

// reasonKilled is the reason of flows that are stopped here.
const reasonKilled = "killed"

type killAnswer struct {
	Status        string   `json:"status"` // ok, done
	Action        string   `json:"action"`
	Target        string   `json:"target"`
	RunID         string   `json:"runId,omitempty"` // of a single one
	SessionKey    string   `json:"sessionKey,omitempty"`
	Label         string   `json:"label,omitempty"`
	Killed        int      `json:"killed"`           // the targets and their descendants
	Labels        []string `json:"labels,omitempty"` // total
	CascadeKilled int      `json:"cascadeKilled,omitempty"`
	Text          string   `json:"text"`
}

// kill stops the caller's sub-agents and their descendants.
func (s *subagents) kill(ctx context.Context, f subagentTree) (tool.Output, error) {
	if f.siblings {
		return s.refuse(statusForbidden, "not_yours", "a sub-agent stops only what it has started itself", "leave the others to the session that started them")
	}
	if s.args.Target == "" {
		return s.refuse(statusError, "no_target", "no sub-agent is named", "name one by its label, number, run id or session key, or all")
	}
	if strings.EqualFold(coordination.TrimJS(s.args.Target), "all") {
		return s.killAll(ctx, f)
	}
	m, why, hint := f.find(coordination.TrimJS(s.args.Target))
	if m == nil {
		return s.refuse(statusError, "unknown_target", why, hint)
	}
	killed, err := s.stop(ctx, m)
	if err != nil {
		return tool.Output{}, err
	}
	a := killAnswer{Status: statusOK, Action: actionKill, Target: s.args.Target, RunID: m.JobID, SessionKey: m.TargetSessionKey, Label: labelOf(m), Killed: len(killed)}
	own := slices.Contains(killed, m.JobID)
	if a.CascadeKilled = len(killed); own {
		a.CascadeKilled--
	}
	switch {
	case own && a.CascadeKilled > 0:
		a.Text = fmt.Sprintf("killed %s, and %d that it had started.", a.Label, a.CascadeKilled)
	case own:
		a.Text = "killed " + a.Label + "."
	case a.CascadeKilled > 0:
		a.Text = fmt.Sprintf("%s was over already; killed %d that it had started.", a.Label, a.CascadeKilled)
	default:
		a.Status, a.Text = statusDone, a.Label+" is over already."
	}
	return tools.Answer(a)
}

func (s *subagents) killAll(ctx context.Context, f subagentTree) (tool.Output, error) {
	a := killAnswer{Status: statusOK, Action: actionKill, Target: "all"}
	for i := range f.active {
		killed, err := s.stop(ctx, &f.active[i])
		if err != nil {
			return tool.Output{}, err
		}
		if slices.Contains(killed, f.active[i].JobID) {
			a.Labels = append(a.Labels, labelOf(&f.active[i]))
		}
		a.Killed += len(killed)
	}
	a.CascadeKilled = a.Killed - len(a.Labels)
	switch {
	case a.Killed == 0:
		a.Text = "no sub-agent is running."
	case a.CascadeKilled > 0:
		a.Text = fmt.Sprintf("killed %d, and %d that they had started.", len(a.Labels), a.CascadeKilled)
	default:
		a.Text = fmt.Sprintf("killed %d.", a.Killed)
	}
	return tools.Answer(a)
}

// stop stops a sub-agent and its descendants, and returns the jobs that were open. Descendants of finished sub-agents may still run, so
// they are searched for, too.
func (s *subagents) stop(ctx context.Context, m *member) (killed []string, err error) {
	by := "agent/" + s.call.AgentID
	if s.call.RunID == "" {
		by = cmp.Or(s.call.By, string(s.call.Entry))
	}
	for of := []flows.Row{m.Row}; len(of) > 0; {
		for i := range of {
			if !of[i].Phase.Open() {
				continue
			}
			more, err := s.o.Stopper.Stop(ctx, of[i].JobID, by, reasonKilled)
			if killed = append(killed, more...); err != nil {
				return killed, err
			}
		}
		if of, err = s.below(ctx, of); err != nil {
			return killed, err
		}
	}
	return killed, nil
}

// below returns the children of these sub-agents: the open ones, and as many recent ones as may have open descendants.
func (s *subagents) below(ctx context.Context, of []flows.Row) (below []flows.Row, err error) {
	err = s.o.Log.View(ctx, func(tx *sql.Tx) error {
		for i := range of {
			open, err := flows.List(ctx, tx, flows.Query{Kind: a2a.Spawn, Open: true, RequesterSessionKey: of[i].TargetSessionKey})
			if err != nil {
				return err
			}
			last, err := flows.List(ctx, tx, flows.Query{Kind: a2a.Spawn, RequesterSessionKey: of[i].TargetSessionKey, Limit: len(open) + maxRecent})
			if err != nil {
				return err
			}
			below = append(below, open...)
			below = append(below, slices.DeleteFunc(last, func(row flows.Row) bool { return row.Phase.Open() })...)
		}
		return nil
	})
	return below, err
}

// leastID is the minimum length of a run id prefix; a shorter one might be a list number.
const leastID = 8

// find finds a sub-agent by list number, session key, label or run id; of the last two an unambiguous prefix suffices.
func (f *subagentTree) find(name string) (m *member, why, hint string) {
	all := slices.Concat(f.active, f.recent)
	unknown := func(why string) (*member, string, string) {
		return nil, why, "subagents with action list shows which exist"
	}
	if strings.EqualFold(name, "last") {
		if len(all) == 0 {
			return unknown("there is no sub-agent")
		}
		last := slices.MaxFunc(all, func(a, b member) int { return cmp.Compare(a.Seq, b.Seq) })
		return &last, "", ""
	}
	if number, err := strconv.Atoi(name); err == nil && number >= 1 && number <= len(all) {
		return &all[number-1], "", ""
	}
	name = strings.ToLower(name)
	for _, is := range []func(m *member) bool{
		func(m *member) bool { return m.TargetSessionKey == name || m.JobID == name },
		func(m *member) bool { return m.Phase.Open() && strings.ToLower(m.Label) == name }, // attempts at the same work share a label
		func(m *member) bool { return strings.ToLower(m.Label) == name },
		func(m *member) bool { return m.Label != "" && strings.HasPrefix(strings.ToLower(m.Label), name) },
		func(m *member) bool { return len(name) >= leastID && strings.HasPrefix(m.JobID, name) },
	} {
		var found []*member
		for i := range all {
			if is(&all[i]) {
				found = append(found, &all[i])
			}
		}
		switch {
		case len(found) == 1:
			return found[0], "", ""
		case len(found) > 1:
			return nil, fmt.Sprintf("%d sub-agents match that", len(found)), "name one by its run id or session key"
		}
	}
	return unknown("no sub-agent of this session matches that")
}
