package config_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/config"
)

func TestCallApprovals(t *testing.T) {
	t.Parallel()
	c, findings := load(t, `{tools: {approvals: {timeoutSeconds: 60, rules: [{tools: ['exec', ' group:fs '], agents: ['eden'], arguments: {command: 'git push*', cwd: '/x'}, decision: 'ask'},
		{decision: 'deny'}]}}}`, nil)
	wantFindings(t, findings)
	want := config.CallApprovals{Timeout: time.Minute, Rules: []config.CallRule{{Tools: []string{"exec", "group:fs"}, Agents: []string{"eden"},
		Arguments: []config.ArgumentPattern{{Name: "command", Pattern: "git push*"}, {Name: "cwd", Pattern: "/x"}}, Decision: config.CallAsk}, {Decision: config.CallDeny}}}
	if diff := cmp.Diff(want, c.Tools.Approvals); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if c, _ = load(t, `{}`, nil); c.Tools.Approvals.Timeout != time.Hour || c.Tools.Approvals.Asks() {
		t.Errorf("without settings: %+v", c.Tools.Approvals)
	}
}

// A rule that cannot be read makes the configuration unusable, with the line: calls would be made that it was to keep back.
func TestWrongCallRules(t *testing.T) {
	t.Parallel()
	for rule, want := range map[string]string{
		`{}`:                                    `error value openclaw.json:2:1: tools.approvals.rules[0].decision: this is required (set it, or remove what it belongs to)`,
		`{decision: 'maybe'}`:                   `error value openclaw.json:2:12: tools.approvals.rules[0].decision: "maybe" is not an allowed value (use allow, ask or deny)`,
		`{decision: 'ask', tool: ['exec']}`:     `error unknown_key openclaw.json:2:19: tools.approvals.rules[0].tool: this is no condition of a rule (use tools, agents, arguments and decision)`,
		`{decision: 'ask', tools: []}`:          `error value openclaw.json:2:26: tools.approvals.rules[0].tools: the list is empty (leave it out to match all)`,
		`{decision: 'ask', agents: [' ']}`:      `error value openclaw.json:2:28: tools.approvals.rules[0].agents[0]: " " is blank or too long (write a name of at most 500 bytes)`,
		`{decision: 'ask', arguments: {a: ''}}`: `error value openclaw.json:2:34: tools.approvals.rules[0].arguments.a: "" is not a pattern of an argument (write 1 to 500 bytes, in which * matches any part, under a name of 1 to 100 bytes)`,
		`{decision: 'ask', arguments: {a: 1}}`:  `error type openclaw.json:2:34: tools.approvals.rules[0].arguments.a: a text was expected, not a number (put it in quotes)`,
		`{decision: 'ask', arguments: ['x']}`:   `error type openclaw.json:2:30: tools.approvals.rules[0].arguments: an object was expected, not a list (write an object)`,
		`{decision: 'ask', tools: [` + strings.Repeat(`'x',`, 51) + `]}`: `error value openclaw.json:2:26: tools.approvals.rules[0].tools: there are 51 names (write at most 50)`,
	} {
		_, findings := load(t, "{tools: {approvals: {rules: [\n"+rule+`]}}}`, nil)
		wantFindings(t, findings, want)
	}
	_, findings := load(t, `{tools: {approvals: {timeoutSeconds: 0, rules: [`+strings.Repeat("{decision: 'ask'},", 101)+`]}}}`, nil)
	if text := fmt.Sprint(findings); !strings.Contains(text, "there are 101 rules") || !strings.Contains(text, "timeoutSeconds") {
		t.Error(text)
	}
}
