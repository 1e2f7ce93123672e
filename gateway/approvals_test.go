package gateway_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/permission"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/gateway/protocol"
	"github.com/pronto-lab/openclawd/projections/permissions"
	"github.com/pronto-lab/openclawd/services/approvals"
	"github.com/pronto-lab/openclawd/tools/callapproval"
)

// decides is a gateway whose clients decide about calls.
func decides(t *testing.T) *bundle {
	t.Helper()
	b := setup(t)
	people := &approvals.Service{Config: func() *config.Config { return b.configuration.InForce() }}
	b.approvals = people
	b.reopen(t)
	people.Calls = callapproval.New(callapproval.Options{Log: b.db, Now: func() time.Time { return time.UnixMilli(b.now.Load()) }, Workspace: func(string) string { return "" }})
	return b
}

// asks has a command wait for a person.
func (b *bundle) asks(t *testing.T, id, command string) { b.wants(t, id, command, nil) }

// wants has input that a command wants wait for a person; without input it is the command itself.
func (b *bundle) wants(t *testing.T, id, command string, in *coordination.CallInput) {
	t.Helper()
	args, err := json.Marshal(map[string]string{"command": command})
	if err != nil {
		t.Fatal(err)
	}
	now := b.now.Load()
	e := permission.Request(&permission.Ask{ID: id, Agent: "eden", Tool: "exec", SessionKey: "agent:eden:main", Args: args, Input: in, Now: now, Expire: now + 60_000})
	appends, err := eventstore.One(coordination.CallApprovalStream(id), eventstore.NewEvent{Type: e.Type, AgentID: e.AgentID, Actor: eventstore.ActorAgent}, e.Data, now)
	if err == nil {
		_, err = b.db.Decide(t.Context(), func(eventstore.Tx) ([]eventstore.StreamAppend, error) { return appends, nil })
	}
	if err != nil {
		t.Fatal(err)
	}
}

type waitingCommand struct {
	ID      string
	Request struct {
		Command string
		Allowed []string `json:"allowedDecisions"`
	}
}

// is checks what became of an approval.
func (b *bundle) is(t *testing.T, id, status string) {
	t.Helper()
	var a *permission.Approval
	_, err := b.db.Decide(t.Context(), func(tx eventstore.Tx) (_ []eventstore.StreamAppend, err error) {
		a, _, err = permissions.Load(tx, id)
		return nil, err
	})
	if err != nil || a.Status != status {
		t.Errorf("%s is %q, %v; want %q", id, a.Status, err, status)
	}
}

func detailOf(refused *protocol.Error, name string) string {
	details, _ := refused.Details.(map[string]string)
	return details[name]
}

// Clients show the first characters of an id, and people type them: they name the one approval that begins so, of all that were ever asked
// for. Where there are two, or too few characters, nothing is decided.
func TestShortIDsOfApprovals(t *testing.T) {
	t.Parallel()
	b := decides(t)
	const first, second, third = "call_0b1c2d3e4f5061728394", "call_0b2c2d3e4f5061728394", "call_0b2fffffffffffffffff"
	b.asks(t, first, "git push")
	if one := want[waitingCommand](t, b, "exec.approval.get", `{"id":"call_0b1"}`); one.ID != first || one.Request.Command != "git push" || len(one.Request.Allowed) != 3 {
		t.Errorf("%+v", one)
	}
	for _, short := range []string{"call_0b", "c", "0b1c2d3e", "call_0b3", "call_0b1c2d3e4f5061728394x", "call_%%%", "CALL_0B1"} {
		refused := b.refused(t, "exec.approval.get", fmt.Sprintf(`{"id":%q}`, short))
		if refused.Code != protocol.CodeInvalidRequest || detailOf(refused, "reason") != "APPROVAL_NOT_FOUND" {
			t.Errorf("%s: %+v", short, refused)
		}
	}
	b.is(t, first, permission.Pending)
	said := want[struct{ ID, Decision string }](t, b, "exec.approval.resolve", `{"id":"call_0b1c","decision":"allow-once"}`)
	if said.ID != first || said.Decision != "allow-once" {
		t.Errorf("%+v", said)
	}
	b.is(t, first, permission.Approved)

	b.asks(t, second, "git push")
	b.answer(t, "exec.approval.resolve", `{"id":"call_0b2","decision":"deny"}`)
	b.is(t, second, permission.Rejected)
	b.asks(t, third, "rm -r /srv") // who types call_0b2 may mean the other one, which is decided
	refused := b.refused(t, "exec.approval.resolve", `{"id":"call_0b2","decision":"allow-once"}`)
	if !strings.Contains(refused.Message, "ambiguous") || detailOf(refused, "hint") == "" {
		t.Errorf("%+v", refused)
	}
	b.is(t, third, permission.Pending)
	b.answer(t, "approval.resolve", `{"id":"call_0b2f","decision":"deny"}`)
	b.is(t, third, permission.Rejected)
}

// Clients show the beginning of a long command. Who sees only that may refuse the call, not allow it.
func TestNoOneAllowsWhatIsCut(t *testing.T) {
	t.Parallel()
	b := decides(t)
	const short, long, unkept = "call_aaaaaaaaaaaaaaaaaaaa", "call_bbbbbbbbbbbbbbbbbbbb", "call_cccccccccccccccccccc"
	b.asks(t, short, strings.Repeat("x", 12_000))
	b.asks(t, long, "echo "+strings.Repeat("x", 12_000)+"; rm -r /srv")
	b.asks(t, unkept, strings.Repeat("x", permission.MaxArguments)) // as earlier versions kept no arguments
	list := want[[]waitingCommand](t, b, "exec.approval.list", `{}`)
	slices.SortFunc(list, func(a, b waitingCommand) int { return strings.Compare(a.ID, b.ID) })
	if len(list) != 3 || strings.Contains(list[1].Request.Command, "rm -r") || !strings.HasSuffix(list[1].Request.Command, "...(truncated)...") {
		t.Fatalf("%d commands wait: %.300q", len(list), list)
	}
	for i, allowed := range []string{"[allow-once allow-always deny]", "[deny]", "[deny]"} {
		if got := fmt.Sprint(list[i].Request.Allowed); got != allowed {
			t.Errorf("%s offers %s, want %s", list[i].ID, got, allowed)
		}
	}
	for _, id := range []string{long, unkept} {
		for _, decision := range []string{"allow-once", "allow-always"} { // a client may not look at what is offered
			refused := b.refused(t, "exec.approval.resolve", fmt.Sprintf(`{"id":%q,"decision":%q}`, id[:9], decision))
			if detailOf(refused, "code") != "approval_not_shown" || !strings.Contains(detailOf(refused, "hint"), id) {
				t.Errorf("%s %s: %+v", id, decision, refused)
			}
		}
		b.is(t, id, permission.Pending)
		b.answer(t, "exec.approval.resolve", fmt.Sprintf(`{"id":%q,"decision":"deny"}`, id))
		b.is(t, id, permission.Rejected)
	}
	b.answer(t, "exec.approval.resolve", fmt.Sprintf(`{"id":%q,"decision":"allow-always"}`, short))
	b.is(t, short, permission.Approved)
}

// Clients are shown the input that a server wants. An address may be confirmed by them, once; values can only be refused there.
func TestClientsSeeWantedInput(t *testing.T) {
	t.Parallel()
	b := decides(t)
	const address, form = "call_aaaaaaaaaaaaaaaaaaaa", "call_bbbbbbbbbbbbbbbbbbbb"
	b.wants(t, address, "x", &coordination.CallInput{Mode: coordination.InputURL, Message: "Sign in.", URL: "https://sign.in.example/now", Number: 1, Repeatable: true})
	b.wants(t, form, "x", &coordination.CallInput{Mode: coordination.InputForm, Message: "Who travels?", Number: 1,
		Schema: json.RawMessage(`{"type":"object","required":["email"],"properties":{"email":{"type":"string"}}}`)})
	list := want[[]waitingCommand](t, b, "exec.approval.list", `{}`)
	slices.SortFunc(list, func(a, b waitingCommand) int { return strings.Compare(a.ID, b.ID) })
	if len(list) != 2 {
		t.Fatalf("%+v", list)
	}
	for i, c := range []struct{ says, allowed string }{
		{"\nSign in.\nhttps://sign.in.example/now\nIf you approve, the call will be made again with the same arguments. The server chose the address:", "[allow-once deny]"},
		{"\nWho travels?\nIf you approve, the call will be made again with the same arguments. The tool does not say that it may be repeated:", "[deny]"},
	} {
		if got := list[i].Request; !strings.Contains(got.Command, c.says) || fmt.Sprint(got.Allowed) != c.allowed {
			t.Errorf("%s is shown as\n%s\nwith %s, want %s\nwith %s", list[i].ID, got.Command, got.Allowed, c.says, c.allowed)
		}
	}
	b.refused(t, "exec.approval.resolve", fmt.Sprintf(`{"id":%q,"decision":"allow-once"}`, form))
	b.is(t, form, permission.Pending)
}

// submits has a plan wait for a person.
func (b *bundle) submits(t *testing.T, id, title string, steps ...string) {
	t.Helper()
	appends, err := eventstore.One(coordination.PlanStream(id), eventstore.NewEvent{Type: coordination.TypePlanSubmitted, AgentID: "eden", Actor: eventstore.ActorAgent},
		coordination.Plan{Context: coordination.Context{EventRole: coordination.RoleOrchestration}, PlanID: id, AgentID: "eden", Title: title, StepsCount: len(steps),
			Steps: steps, SessionKey: "agent:eden:main"}, b.now.Load())
	if err == nil {
		_, err = b.db.Decide(t.Context(), func(eventstore.Tx) ([]eventstore.StreamAppend, error) { return appends, nil })
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Clients show at most 80 characters of a plan's title and 512 of its steps. Who sees only these may deny the plan, not allow it.
func TestNoOneAllowsAPlanThatIsCut(t *testing.T) {
	t.Parallel()
	b := decides(t)
	const whole, long, titled = "plan_a", "plan_b", "plan_c"
	b.submits(t, whole, "The garden", "look", strings.Repeat("x", 450))
	b.submits(t, long, "The garden", "look", strings.Repeat("x", 600)+" and rm -r /srv")
	b.submits(t, titled, strings.Repeat("The garden ", 8)+"and rm -r /srv", "look")
	list := want[[]struct {
		ID      string
		Request struct {
			Title, Description string
			Allowed            []string `json:"allowedDecisions"`
		}
	}](t, b, "openclaw.approval.list", `{}`)
	if len(list) != 3 {
		t.Fatalf("%+v", list)
	}
	for _, one := range list {
		cut := one.ID != whole
		if offered := fmt.Sprint(one.Request.Allowed); offered != map[bool]string{false: "[allow-once deny]", true: "[deny]"}[cut] ||
			cut && strings.Contains(one.Request.Title+one.Request.Description, "rm -r") {
			t.Errorf("%+v offers %s", one, offered)
		}
	}
	for _, id := range []string{long, titled} { // a client may not look at what is offered
		refused := b.refused(t, "approval.resolve", fmt.Sprintf(`{"id":%q,"kind":"system-agent","decision":"allow-once"}`, id))
		if detailOf(refused, "code") != "approval_not_shown" || !strings.Contains(detailOf(refused, "hint"), "Inbox") {
			t.Errorf("%s: %+v", id, refused)
		}
	}
}
