package monitor_test

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/coordination"
)

// Random logs draw from these.
var (
	drawnTypes = []string{"a2a.send", "a2a.response", "a2a.complete", "a2a.spawn", "a2a.spawn_result", "task.started", "task.updated",
		"task.completed", "task.blocked", "delegation.retrying", "delegation.rejected", "continuation.sent", "gateway.heartbeat", "made.up"}
	drawnRoles  = []string{"", "", "conversation.main", "delegation.subagent", "orchestration.task", "system.observability", "nonsense"}
	drawnTexts  = []string{"배포 서버", "fix the bug", "회귀 테스트", "시장 조사 분석", "README 문서", "hello", ""}
	drawnAgents = []string{"main", "ruda", "eden", "helper"}
	drawnStates = []string{"", "", "in_progress", "completed", "error", "accepted"}
)

const statusNow = 3_000 // minutes after noon

// randomLog is n lines that are roughly in order of time, over two days and a bit.
func randomLog(r *rand.Rand, n int) []string {
	pick := func(list []string) string { return list[r.IntN(len(list))] }
	var lines []string
	for i := range n {
		minute := float64(i)*statusNow/float64(n) + r.Float64()*20
		if r.IntN(20) == 0 {
			minute = r.Float64() * statusNow
		}
		data := []string{fmt.Sprintf(`"toAgent":%q,"message":%q,"status":%q`, pick(drawnAgents), pick(drawnTexts), pick(drawnStates))}
		if role := pick(drawnRoles); role != "" {
			data = append(data, fmt.Sprintf(`"eventRole":%q`, role))
		}
		if r.IntN(5) > 0 {
			data = append(data, fmt.Sprintf(`"workSessionId":"ws_%d"`, int(minute)/60+r.IntN(4)))
		}
		if r.IntN(2) > 0 {
			data = append(data, fmt.Sprintf(`"conversationId":"c_%d"`, r.IntN(8)))
		}
		if r.IntN(2) > 0 {
			data = append(data, fmt.Sprintf(`"taskId":"t_%d"`, r.IntN(3)))
		}
		lines = append(lines, event(pick(drawnTypes), pick(drawnAgents), minute, strings.Join(data, ",")))
	}
	return lines
}

// told is an event as the oracle sees it: read from the log, classified by itself.
type told struct {
	seq    int64
	record coordination.Record
	class  coordination.Class
}

type oracle struct {
	events     []told // in log order
	categories map[string]string
}

func newOracle(t *testing.T, b *testBundle) *oracle {
	t.Helper()
	all, err := b.db.Read(context.Background(), 0, 10_000)
	if err != nil {
		t.Fatal(err)
	}
	o := &oracle{categories: map[string]string{}}
	for _, e := range all {
		r := coordination.ReadRecord(coordination.RulesV2, e.Type, e.AgentID, e.TS, e.RecordedAt, e.Data, e.Original)
		class := coordination.Classify(coordination.RulesV2, &r, coordination.ScanText(coordination.RulesV2, &r), coordination.DefaultRoster())
		o.events = append(o.events, told{seq: e.Seq, record: r, class: class})
	}
	// What a session votes for is the projection's affair; here it matters that filters and counts agree with what is shown.
	for _, s := range get[sessionPage](t, b, "/api/work-sessions?limit=1000&include=summary", http.StatusOK).Sessions {
		o.categories[s.WorkSessionID] = s.CollabCategory
	}
	return o
}

// question is a random combination of filters.
type question struct {
	roles, types, categories, statuses []string
	since, until                       float64
	limit                              int
}

func ask(r *rand.Rand) question {
	some := func(list []string) []string {
		var picked []string
		for r.IntN(2) == 0 && len(picked) < 3 {
			picked = append(picked, list[r.IntN(len(list))])
		}
		return picked
	}
	q := question{limit: 5 + r.IntN(150), since: at(-1e6), until: at(1e6), types: some(drawnTypes), roles: some(drawnRoles[2:6])}
	q.categories = some([]string{"infra_ops", "engineering_build", "qa_validation", "planning_decision", "growth_marketing"})
	q.statuses = some([]string{"ACTIVE", "QUIET", "ARCHIVED"})
	if r.IntN(3) == 0 {
		q.since = at(r.Float64() * statusNow)
	}
	if r.IntN(3) == 0 {
		q.until = at(r.Float64() * statusNow)
	}
	return q
}

func (q *question) query() string {
	v := url.Values{"limit": {fmt.Sprint(q.limit)}, "role": q.roles, "type": {strings.Join(q.types, ",")}, "viewCategory": q.categories, "status": q.statuses}
	if q.since > at(-1e6) {
		v.Set("since", fmt.Sprintf("%.3f", q.since))
	}
	if q.until < at(1e6) {
		v.Set("until", fmt.Sprintf("%.3f", q.until))
	}
	return v.Encode()
}

func in(list []string, value string) bool { return len(list) == 0 || slices.Contains(list, value) }

func (q *question) lists(e *told) bool {
	return in(q.roles, string(e.class.Role)) && in(q.types, e.record.Type)
}

// matching are the seqs of the events that match, and how many do by category.
func (o *oracle) matching(q *question) (seqs []int64, categories map[string]int64) {
	seqs, categories = []int64{}, map[string]int64{}
	for i := range o.events {
		e := &o.events[i]
		if !q.lists(e) || e.record.Time < q.since || e.record.Time > q.until {
			continue
		}
		categories[string(e.class.Category)]++
		if in(q.categories, string(e.class.Category)) {
			seqs = append(seqs, e.seq)
		}
	}
	return seqs, categories
}

// listing is a work session as the oracle lists it.
type listing struct {
	name            string
	id              int64
	first, last     float64
	events, threads int64
	status          string
}

// sessions lists the work sessions that match, in order, and counts them by category; total is of all with a listed event.
func (o *oracle) sessions(q *question) (list []listing, categories map[string]int64, total int64) {
	list, categories = []listing{}, map[string]int64{}
	byName := map[string][]told{}
	for _, e := range o.events {
		if name := e.record.WorkSessionID; name != "" {
			byName[name] = append(byName[name], e)
		}
	}
	for name, events := range byName {
		l := listing{name: name, id: events[0].seq, status: string(statusOf(events))}
		threads := map[string]bool{}
		for i := range events {
			e := &events[i]
			if !q.lists(e) {
				continue
			}
			if key, _ := coordination.ThreadKey(&e.record); !threads[key] {
				threads[key] = true
				l.threads++
			}
			if l.events++; l.events == 1 {
				l.first, l.last = e.record.Time, e.record.Time
			}
			l.first, l.last = min(l.first, e.record.Time), max(l.last, e.record.Time)
		}
		if l.events == 0 {
			continue
		}
		total++
		if !in(q.statuses, l.status) || l.last < q.since || l.last > q.until {
			continue
		}
		categories[o.categories[name]]++
		if in(q.categories, o.categories[name]) {
			list = append(list, l)
		}
	}
	slices.SortFunc(list, func(a, b listing) int { return cmp.Or(cmp.Compare(b.last, a.last), cmp.Compare(a.id, b.id)) })
	return list, categories, total
}

// statusOf folds all events of a session by time, then seq.
func statusOf(events []told) coordination.Status {
	events = slices.Clone(events)
	slices.SortStableFunc(events, func(a, b told) int { return cmp.Compare(a.record.Time, b.record.Time) })
	open, tasks := map[string]bool{}, map[string]string{}
	for i := range events {
		r := &events[i].record
		if step := coordination.ThreadStep(r); step.Affects {
			key, _ := coordination.ThreadKey(r)
			open[key] = step.Open
		}
		if step := coordination.TaskStateOf(r); step.Affects && r.TaskID != "" && (!step.OnlyIfUnknown || tasks[r.TaskID] == "") {
			tasks[r.TaskID] = step.State
		}
	}
	anything := slices.Contains(slices.Collect(maps.Values(open)), true) ||
		slices.Contains(slices.Collect(maps.Values(tasks)), coordination.StateInProgress)
	latest := &events[len(events)-1].record
	return coordination.SessionStatus(at(statusNow), latest.Time, coordination.Terminal(coordination.RulesV2, latest), anything)
}
