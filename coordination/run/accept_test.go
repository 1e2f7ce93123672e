package run_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/run"
)

func hello(change func(*run.Ask)) run.Ask {
	a := run.Ask{RunQueued: coordination.RunQueued{Context: belongs, RunID: "r1", Message: "hello", Cause: "agent"}, Session: coordination.MainKey("eden")}
	if change != nil {
		change(&a)
	}
	return a
}

func accepted(t *testing.T, a run.Ask) coordination.RunQueued {
	t.Helper()
	events, err := run.Accept(a)
	if err != nil || len(events) != 1 || events[0].Type != coordination.TypeRunQueued {
		t.Fatalf("%+v, %v", events, err)
	}
	q, is := events[0].Data.(coordination.RunQueued)
	if !is {
		t.Fatalf("%T", events[0].Data)
	}
	return q
}

func TestAcceptKeepsWhatIsAsked(t *testing.T) {
	t.Parallel()
	none := int64(0)
	a := hello(func(a *run.Ask) {
		a.RunID, a.SessionKey, a.Reset, a.OnRestart, a.Provenance, a.TimeoutMs = "실행 1", "ignored", "new", "retry", "inter_session", &none
		a.JobID, a.DueAtMs = "j1", 1<<53
	})
	want := a.RunQueued
	want.Context, want.SessionKey, want.Lane = observed(), "agent:eden:main", run.LaneMain
	if diff := cmp.Diff(want, accepted(t, a)); diff != "" {
		t.Error(diff)
	}
}

func TestAcceptRefuses(t *testing.T) {
	t.Parallel()
	less := int64(-1)
	for name, c := range map[string]struct {
		change      func(*run.Ask)
		code, field string
	}{
		"no id":                 {func(a *run.Ask) { a.RunID = "" }, run.CodeInvalidAsk, "runId"},
		"a long id":             {func(a *run.Ask) { a.RunID = strings.Repeat("a", 257) }, run.CodeInvalidAsk, "runId"},
		"an id of a job":        {func(a *run.Ask) { a.RunID = "cron:j:1" }, run.CodeInvalidAsk, "runId"},
		"an id with NUL":        {func(a *run.Ask) { a.RunID = "a\x00" }, run.CodeInvalidAsk, "runId"},
		"an id that is no text": {func(a *run.Ask) { a.RunID = "a\xff" }, run.CodeInvalidAsk, "runId"},
		"no session":            {func(a *run.Ask) { a.Session = coordination.SessionKey{} }, run.CodeInvalidAsk, "sessionKey"},
		"no message":            {func(a *run.Ask) { a.Message = "" }, run.CodeInvalidAsk, "message"},
		"a message of 1 MiB":    {func(a *run.Ask) { a.Message = strings.Repeat("a", run.MaxText+1) }, run.CodeInvalidAsk, "message"},
		"no text":               {func(a *run.Ask) { a.Message = "a\xff" }, run.CodeInvalidAsk, "message"},
		"a long extra prompt":   {func(a *run.Ask) { a.ExtraSystemPrompt = strings.Repeat("a", run.MaxText+1) }, run.CodeInvalidAsk, "extraSystemPrompt"},
		"a long route":          {func(a *run.Ask) { a.To = strings.Repeat("a", 2_000) }, run.CodeInvalidAsk, "to"},
		"a long context":        {func(a *run.Ask) { a.ConversationID = strings.Repeat("a", 2_000) }, run.CodeInvalidAsk, "conversationId"},
		"another lane":          {func(a *run.Ask) { a.Lane = "other" }, run.CodeUnknownLane, "lane"},
		"less than no time":     {func(a *run.Ask) { a.TimeoutMs = &less }, run.CodeInvalidAsk, "timeoutMs"},
		"before time":           {func(a *run.Ask) { a.DueAtMs = -1 }, run.CodeInvalidAsk, "dueAtMs"},
		"after all time":        {func(a *run.Ask) { a.DueAtMs = 1<<53 + 1 }, run.CodeInvalidAsk, "dueAtMs"},
		"a long job":            {func(a *run.Ask) { a.JobID = strings.Repeat("a", 2_000) }, run.CodeInvalidAsk, "jobId"},
		"another restart":       {func(a *run.Ask) { a.OnRestart = "ignore" }, run.CodeInvalidAsk, "onRestart"},
		"another reset":         {func(a *run.Ask) { a.Reset = "delete" }, run.CodeInvalidAsk, "reset"},
		"another provenance":    {func(a *run.Ask) { a.Provenance = "friend" }, run.CodeInvalidAsk, "provenance"},
		"blocks that are none":  {func(a *run.Ask) { a.Content = json.RawMessage(`{"type":"text"}`) }, run.CodeInvalidAsk, "content"},
		"no blocks":             {func(a *run.Ask) { a.Content = json.RawMessage(`[]`) }, run.CodeInvalidAsk, "content"},
		"a block that is none":  {func(a *run.Ask) { a.Content = json.RawMessage(`[{}, 7]`) }, run.CodeInvalidAsk, "content"},
		"half a block":          {func(a *run.Ask) { a.Content = json.RawMessage(`[{"type":`) }, run.CodeInvalidAsk, "content"},
		"many blocks":           {func(a *run.Ask) { a.Content = json.RawMessage(`["` + strings.Repeat("a", run.MaxContent) + `"]`) }, run.CodeInvalidAsk, "content"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			events, err := run.Accept(hello(c.change))
			refusal := (*run.Refusal)(nil)
			if !errors.As(err, &refusal) || refusal.Reason != c.code || refusal.Field != c.field || events != nil {
				t.Fatalf("%+v, %+v", events, err)
			}
			if refusal.Text == "" || refusal.HintText == "" || len(refusal.Value) > 200 || !utf8.ValidString(refusal.Value+refusal.Text) {
				t.Errorf("it says %q of %q, and to %q", refusal.Text, refusal.Value, refusal.HintText)
			}
		})
	}
}

// What looks like a secret is in no event; what is no text of the message stays as it is, byte by byte.
func TestAcceptMasks(t *testing.T) {
	t.Parallel()
	q := accepted(t, hello(func(a *run.Ask) {
		a.Message, a.ExtraSystemPrompt = "use "+token, "password=hunter2hunter2"
		a.Content = json.RawMessage(`[{"type":"text","text":"use ` + token + `","n":1.50}, {"type":"text","text":" a\u003cb\n"},{"type":"image","data":"aGk=","source":{"text":[ 1 ]}}]`)
	}))
	if q.Message != "use ***" || q.ExtraSystemPrompt != "password=***" {
		t.Errorf("%q, %q", q.Message, q.ExtraSystemPrompt)
	}
	const want = `[{"type":"text","text":"use ***","n":1.50},{"type":"text","text":" a\u003cb\n"},{"type":"image","data":"aGk=","source":{"text":[1]}}]`
	if string(q.Content) != want {
		t.Errorf("%s\nwant %s", q.Content, want)
	}
	if q := accepted(t, hello(func(a *run.Ask) { a.Message, a.Content = "", q.Content })); string(q.Content) != want {
		t.Errorf("masked again: %s", q.Content)
	}
}

func TestLaneOf(t *testing.T) {
	t.Parallel()
	eden := coordination.MainKey("eden")
	for _, c := range []struct {
		key         coordination.SessionKey
		asked, want string
	}{
		{eden, "", run.LaneMain},
		{coordination.SubagentKey("eden", "u1"), "", run.LaneSubagent},
		{coordination.A2AKey("eden", "c1"), "", run.LaneNested},
		{coordination.ChannelKey("eden", "discord", "1"), "", run.LaneMain},
		{eden, run.LaneNested, run.LaneNested},
		{coordination.SubagentKey("eden", "u1"), run.LaneMain, run.LaneMain},
		{coordination.A2AKey("eden", "c1"), "unheard-of", run.LaneNested},
	} {
		if got := run.LaneOf(c.key, c.asked); got != c.want {
			t.Errorf("%s, asked for %q: %s, want %s", c.key, c.asked, got, c.want)
		}
	}
}

func FuzzAccept(f *testing.F) {
	f.Add("r1", "hello", []byte(`[{"type":"text","text":"a"}]`))
	f.Add("", "", []byte(`[{"text":"\ud800","text":{}}]`))
	f.Fuzz(func(t *testing.T, id, message string, content []byte) {
		events, err := run.Accept(hello(func(a *run.Ask) { a.RunID, a.Message, a.Content = id, message, content }))
		if err != nil {
			return
		}
		if _, err := json.Marshal(events[0].Data); err != nil {
			t.Errorf("accepted, but not to be written: %v", err)
		}
	})
}
