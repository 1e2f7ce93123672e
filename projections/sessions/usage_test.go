package sessions_test

import (
	"context"
	"database/sql"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/projectiontest"
	"github.com/pronto-lab/openclawd/projections/sessions"
)

func (l *log) usage(t testing.TB, q sessions.UsageQuery) []sessions.Usage {
	t.Helper()
	return projectiontest.Read(t, l, func(ctx context.Context, tx *sql.Tx) ([]sessions.Usage, error) { return sessions.UsageIn(ctx, tx, q) })
}

// Answers that no run here gave are counted by quarter of an hour, session and model. Those of runs, injected ones and imported events are not.
func TestUsageOfAnswersThatWereTakenOver(t *testing.T) {
	t.Parallel()
	l := setup(t)
	const answer = `"provider":"fake","model":"m","stopReason":"toolUse","usage":{"input":100,"output":20,"total":120,"cacheRead":60,"cacheWrite":10,` +
		`"cost":{"input":0.00003,"output":0.00004,"cacheRead":0.000006,"total":0.000076}}`
	injected := say(4, "main", "assistant", "so", `"by":"openclaw","usage":{"input":1,"output":1,"total":2}`)
	l.append(t, say(1, "main", "user", "look"), say(2, "main", "assistant", "", answer), say(3, "main", "tool", "found"), injected,
		say(5, "main", "assistant", "done", `"provider":"fake","model":"m","stopReason":"stop","usage":{"input":9,"output":-1,"total":9.5,"cost":{"input":1}}`),
		say(6, "main", "assistant", "no", `"provider":"fake","model":"m","stopReason":"error","usage":{"cost":{"total":1e300}}`),
		say(7, "main", "assistant", "here", `"runId":"r1","model":"m","usage":{"input":5,"output":5,"total":10}`), say(8, "main", "tool", "x", `"runId":"r1"`),
		imported(say(9, "main", "assistant", "x", answer)), say(sessions.UsageStep, "main", "assistant", "late", answer),
		say(10, "other", "tool", "not called"), say(11, "other", "assistant", "x", answer))
	const quarter = base / sessions.UsageStep
	main := coordination.MainKey("eden").String()
	cost := sessions.Cost{Input: 30_000, Output: 40_000, CacheRead: 6_000, Total: 76_000}
	one := sessions.Usage{SessionKey: main, Provider: "fake", Model: "m", Agent: "eden", Quarter: quarter + 1, Answers: 1, Input: 100, Output: 20, Total: 120,
		CacheRead: 60, CacheWrite: 10, Cost: cost, First: base + sessions.UsageStep, Last: base + sessions.UsageStep}
	several, other := one, one
	several.Quarter, several.Answers, several.Questions, several.Failed, several.ToolCalls, several.Unpriced = quarter, 3, 2, 1, 1, 1
	several.Input, several.Total, several.First, several.Last = 109, 129, base+2, base+6
	several.Cost.Total += 1e15
	other.SessionKey, other.Quarter, other.First, other.Last = "agent:eden:other", quarter, base+11, base+11
	all := []sessions.Usage{several, other, one}
	check := func(how string) {
		if diff := cmp.Diff(all, l.usage(t, sessions.UsageQuery{To: base * 2})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", how, diff)
		}
	}
	check("live")
	if err := l.engine.Rebuild(t.Context(), projections.RebuildOptions{}); err != nil {
		t.Fatal(err)
	}
	check("rebuilt")
	for name, c := range map[string]struct {
		q    sessions.UsageQuery
		want []sessions.Usage
	}{
		"of a session":    {sessions.UsageQuery{To: base * 2, SessionKey: "agent:eden:other"}, all[1:2]},
		"of an agent":     {sessions.UsageQuery{To: base * 2, Agent: "seum"}, nil},
		"until a quarter": {sessions.UsageQuery{To: (quarter + 1) * sessions.UsageStep}, all[:2]},
		"from a quarter":  {sessions.UsageQuery{From: (quarter + 1) * sessions.UsageStep, To: base * 2}, all[2:]},
	} {
		if got := l.usage(t, c.q); !slices.Equal(got, c.want) {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}
