package config_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/config"
)

func TestRolesOfAgents(t *testing.T) {
	t.Parallel()
	c, findings := load(t, `{agents: {list: [{id: 'Ruda', role: 'lead'}, {id: 'eden'}, {id: 'seum', role: 'specialist'}, {id: 'dajim', role: 'lead'},
		{id: 'nari', role: 'leda'}, {id: 'bora', role: 'Backend Developer'}]}}`, nil)
	wantFindings(t, findings,
		`warning value openclaw.json:2:22: agents.list[4].role: "leda" is not a role; it is treated as worker (did you mean "lead"? use lead, worker or specialist)`,
		`warning value openclaw.json:2:50: agents.list[5].role: "Backend Developer" is not a role; it is treated as worker (use lead, worker or specialist)`)
	var roles []string
	for _, a := range c.Agents {
		roles = append(roles, a.Role)
	}
	want := []string{config.RoleLead, config.RoleWorker, config.RoleSpecialist, config.RoleLead, config.RoleWorker, config.RoleWorker}
	if diff := cmp.Diff(want, roles); diff != "" {
		t.Errorf("roles (-want +got)\n%s", diff)
	}
	if diff := cmp.Diff([]string{"ruda", "dajim"}, c.Leads()); diff != "" {
		t.Errorf("leads (-want +got)\n%s", diff)
	}
	for id, lead := range map[string]bool{"ruda": true, "RUDA": true, "dajim": true, "eden": false, "seum": false, "nari": false, "stranger": false, "": false} {
		if c.Lead(id) != lead {
			t.Errorf("%q is a lead: %t", id, !lead)
		}
	}
	if leads := config.Default().Leads(); leads != nil {
		t.Errorf("leads of no one: %v", leads)
	}
}

func TestRoleIsAText(t *testing.T) {
	t.Parallel()
	_, findings := load(t, `{agents: {list: [{id: 'eden', role: 1}]}}`, nil)
	wantFindings(t, findings, `error type openclaw.json:1:37: agents.list[0].role: a text was expected, not a number (put it in quotes)`)
}

func TestTaskEnforcer(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]config.TaskEnforcer{
		`{}`:                           {Tools: []string{"write", "edit", "apply_patch", "bash", "exec", "group:mcp-changes"}},
		`{enabled: true}`:              {Enabled: true, Tools: []string{"write", "edit", "apply_patch", "bash", "exec", "group:mcp-changes"}},
		`{enabled: true, tools: []}`:   {Enabled: true},
		`{enabled: true, tools: null}`: {Enabled: true, Tools: []string{"write", "edit", "apply_patch", "bash", "exec", "group:mcp-changes"}},
		`{tools: ['write', 'deploy']}`: {Tools: []string{"write", "deploy"}},
	} {
		c, findings := load(t, `{tools: {taskEnforcer: `+text+`}}`, nil)
		wantFindings(t, findings)
		if diff := cmp.Diff(want, c.Tools.TaskEnforcer); diff != "" {
			t.Errorf("%s (-want +got)\n%s", text, diff)
		}
	}
	_, findings := load(t, `{tools: {taskEnforcer: {enable: true, enabled: 'yes', tools: 'write'}, taskEnforcr: {}}}`, nil)
	wantFindings(t, findings,
		`warning unknown_key openclaw.json:1:25: tools.taskEnforcer.enable: unknown key; it has no effect (did you mean "enabled"?)`,
		`error type openclaw.json:1:48: tools.taskEnforcer.enabled: true or false was expected, not a text (write true or false)`,
		`error type openclaw.json:1:62: tools.taskEnforcer.tools: a list was expected, not a text (write a list)`,
		`warning unknown_key openclaw.json:1:72: tools.taskEnforcr: unknown key; it has no effect (did you mean "taskEnforcer"?)`)
}

func TestPlanGate(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]config.PlanGate{
		`{}`:                           {Tools: []string{"write", "edit", "apply_patch", "bash", "exec", "group:mcp-changes"}},
		`{enabled: true}`:              {Enabled: true, Tools: []string{"write", "edit", "apply_patch", "bash", "exec", "group:mcp-changes"}},
		`{enabled: true, tools: []}`:   {Enabled: true},
		`{enabled: true, tools: null}`: {Enabled: true, Tools: []string{"write", "edit", "apply_patch", "bash", "exec", "group:mcp-changes"}},
		`{tools: ['write', 'deploy']}`: {Tools: []string{"write", "deploy"}},
	} {
		c, findings := load(t, `{tools: {planGate: `+text+`}}`, nil)
		wantFindings(t, findings)
		if diff := cmp.Diff(want, c.Tools.PlanGate); diff != "" {
			t.Errorf("%s (-want +got)\n%s", text, diff)
		}
	}
	_, findings := load(t, `{tools: {planGate: {enable: true, enabled: 'yes', tools: 'write'}, planGat: {}}}`, nil)
	wantFindings(t, findings,
		`warning unknown_key openclaw.json:1:21: tools.planGate.enable: unknown key; it has no effect (did you mean "enabled"?)`,
		`error type openclaw.json:1:44: tools.planGate.enabled: true or false was expected, not a text (write true or false)`,
		`error type openclaw.json:1:58: tools.planGate.tools: a list was expected, not a text (write a list)`,
		`warning unknown_key openclaw.json:1:68: tools.planGat: unknown key; it has no effect (did you mean "planGate"?)`)
}

// What gates tools names them: what is neither a name nor a pattern or group would gate nothing, and no one shall rely on it.
func TestGatesNameTools(t *testing.T) {
	t.Parallel()
	for _, gate := range []string{"taskEnforcer", "planGate"} {
		c, findings := load(t, `{tools: {`+gate+`: {enabled: true, tools: [
			'write', 'Bash', 'mcp-x.y_2', 'group:fs', 'group:files',
			'sessions *',
			'', ' edit']}}}`, nil)
		at := "tools." + gate + ".tools"
		wantFindings(t, findings,
			`warning value openclaw.json:2:46: `+at+`[4]: "group:files" is not a tool name, pattern or group and restricts no tool (name tools, or groups such as group:fs)`,
			`warning value openclaw.json:3:4: `+at+`[5]: "sessions *" is not a tool name, pattern or group and restricts no tool (name tools, or groups such as group:fs)`,
			`warning value openclaw.json:4:4: `+at+`[6]: "" is not a tool name, pattern or group and restricts no tool (name tools, or groups such as group:fs)`)
		names := map[string][]string{"taskEnforcer": c.Tools.TaskEnforcer.Tools, "planGate": c.Tools.PlanGate.Tools}[gate]
		if diff := cmp.Diff([]string{"write", "Bash", "mcp-x.y_2", "group:fs", "group:files", "sessions *", "", "edit"}, names); diff != "" {
			t.Errorf("%s (-want +got)\n%s", at, diff)
		}
	}
}
