package gateway_test

import (
	"strings"
	"testing"
	"time"
)

// What OpenClaw has used counts with its cost once it was taken over: its answers belong to no run here.
func TestUsageThatWasTakenOverCounts(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const answer = `"author":"assistant","text":"so","provider":"fake","model":"echo-1","stopReason":"stop","usage":{"input":100,"output":20,"total":120,` +
		`"cacheRead":60,"cacheWrite":10,"cost":{"input":0.00003,"output":0.00004,"cacheRead":0.000006,"cacheWrite":0,"total":0.000076}}`
	b.say(t, "agent:eden:main", `"author":"user","text":"well"`, strings.Replace(answer, `"stop"`, `"toolUse"`, 1), `"author":"tool","text":"found"`, answer)
	b.tick(time.Minute * 15)
	b.say(t, "agent:eden:main", `"author":"assistant","text":"no cost","usage":{"input":1,"output":2,"total":3}`)
	const totals = `"input":61,"output":42,"cacheRead":120,"cacheWrite":20,"totalTokens":243,"totalCost":0.000152,"inputCost":0.00006,"outputCost":0.00008,` +
		`"cacheReadCost":0.000012,"cacheWriteCost":0,"missingCostEntries":1`
	for _, c := range []struct{ method, params, wanted string }{
		{"usage.cost", `{}`, `"totals":{` + totals + `}`},
		{"sessions.usage", `{"key":"agent:eden:main"}`, `"totals":{` + totals + `}`},
		{"sessions.usage", `{"agentScope":"all"}`, `"messages":{"total":5,"user":2,"assistant":3,"toolCalls":1,"toolResults":1,"errors":0}`},
		{"sessions.usage", `{"agentScope":"all"}`, `"messageCounts":{"total":5,"user":2,"assistant":3,"toolCalls":1,"toolResults":1,"errors":0}`},
		{"sessions.usage", `{"agentScope":"all"}`, `"count":2,"totals":{"input":60,"output":40,`},
		{"sessions.usage", `{"agentScope":"all"}`, `"tokens":243,"cost":0.000152`},
		{"sessions.usage.timeseries", `{"key":"agent:eden:main"}`, `"input":60,"output":40,"cacheRead":120,"cacheWrite":20,"totalTokens":240,"cost":0.000152,"cumulativeTokens":240,"cumulativeCost":0.000152}`},
		{"sessions.usage.timeseries", `{"key":"agent:eden:main"}`, `"totalTokens":3,"cost":0,"cumulativeTokens":243,"cumulativeCost":0.000152}`},
		{"sessions.usage.logs", `{"key":"agent:eden:main"}`, `"tokens":120,"cost":0.000076}`},
	} {
		if got := string(b.answer(t, c.method, c.params)); !strings.Contains(got, c.wanted) {
			t.Errorf("%s %s\ngot  %s\nwant %s", c.method, c.params, got, c.wanted)
		}
	}
	b.protocol = 4
	const shown = `"usage":{"input":30,"output":20,"cacheRead":60,"cacheWrite":10,"totalTokens":120,"cost":{"input":0.00003,"output":0.00004,"cacheRead":0.000006,` +
		`"cacheWrite":0,"total":0.000076}}`
	if got := string(b.answer(t, "chat.history", `{"sessionKey":"agent:eden:main"}`)); !strings.Contains(got, shown) {
		t.Errorf("messages have no usage: %s", got)
	}
}
