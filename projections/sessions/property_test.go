package sessions_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/session"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/projectiontest"
	"github.com/pronto-lab/openclawd/projections/sessions"
)

// model is what sessions should be, kept as simply as can be.
type model struct {
	sessions    map[string]*modelSession
	transcripts map[string][]*modelTranscript // by key, the oldest first
}

type modelSession struct {
	id, label string
	settings  map[string]string
}

type modelTranscript struct {
	id, closed string
	hidden     bool
	said       []string
}

// step is one command. What it does not need is blank.
type step struct {
	do                string // patch, say, reset, delete
	key               coordination.SessionKey
	values            map[string]json.RawMessage
	text, old, reason string // old: a transcript
	keep              bool
}

var (
	modelKeys = []coordination.SessionKey{
		coordination.MainKey("eden"), coordination.MainKey("seum"), coordination.SubagentKey("eden", "u1"), {Kind: coordination.KeyAlias, ID: "global"},
	}
	modelMain = coordination.MainKey("eden")
)

func drawStep(t *rapid.T) step {
	s := step{do: rapid.SampledFrom([]string{"patch", "patch", "say", "say", "say", "reset", "delete"}).Draw(t, "do"), key: rapid.SampledFrom(modelKeys).Draw(t, "key")}
	switch s.do {
	case "patch":
		s.values = map[string]json.RawMessage{}
		for _, name := range []string{"label", "execNode", "thinkingLevel"} {
			if value := rapid.SampledFrom([]string{"", "null", `"low"`, `"high"`, `" "`}).Draw(t, name); value != "" {
				s.values[name] = json.RawMessage(value)
			}
		}
	case "say":
		s.text = rapid.StringMatching(`[가-힣a-z]{1,8}`).Draw(t, "text")
		if rapid.IntRange(0, 3).Draw(t, "late") == 0 {
			s.old = fmt.Sprint("t", rapid.IntRange(0, 30).Draw(t, "transcript"))
		}
	case "reset":
		s.reason = rapid.SampledFrom([]string{"", "new", "reset", "bad"}).Draw(t, "reason")
	case "delete":
		s.keep = rapid.Bool().Draw(t, "keep")
	}
	return s
}

// decision is the step as a command.
func (s step) decision(newID string) func(eventstore.Tx, session.State) ([]session.Event, error) {
	c := session.Command{By: "cli", NewID: newID}
	return func(tx eventstore.Tx, state session.State) ([]session.Event, error) {
		switch s.do {
		case "patch":
			return session.Patch(state, session.PatchCommand{Command: c, Values: s.values}, func(label string) (string, error) {
				return sessions.LabelHolder(tx, label)
			})
		case "say":
			return session.Say(state, session.SayCommand{Command: c, Message: coordination.SessionMessage{Author: "user", Text: s.text, SessionID: s.old}})
		case "reset":
			return session.Reset(state, session.ResetCommand{Command: c, Reason: s.reason})
		}
		return session.Delete(state, session.DeleteCommand{Command: c, Main: modelMain, KeepTranscript: s.keep})
	}
}

// do is what the step should lead to: a code of a refusal, or "".
func (m *model) do(s step, newID string) (code string) {
	key := s.key.String()
	has := m.sessions[key]
	begin := func(id string) {
		if has == nil {
			has = &modelSession{settings: map[string]string{}}
			m.sessions[key] = has
		}
		has.id = id
		m.transcripts[key] = append(m.transcripts[key], &modelTranscript{id: id})
	}
	switch s.do {
	case "patch":
		label := string(s.values["label"])
		if label == `" "` {
			return session.CodeInvalidLabel
		}
		for other, o := range m.sessions {
			if label != "" && label != "null" && other != key && `"`+o.label+`"` == label {
				return session.CodeLabelInUse
			}
		}
		if string(s.values["execNode"]) == `" "` || string(s.values["thinkingLevel"]) == `" "` {
			return session.CodeInvalidSetting
		}
		if has == nil {
			begin(newID)
		}
		for name, value := range s.values {
			switch {
			case name == "label" && string(value) == "null":
				has.label = ""
			case name == "label":
				has.label = string(value[1 : len(value)-1])
			case string(value) == "null":
				delete(has.settings, name)
			default:
				has.settings[name] = string(value)
			}
		}
	case "say":
		if has == nil {
			begin(newID) // a command that finds no session begins one
		}
		to := has.id
		for _, t := range m.transcripts[key] {
			if t.id == s.old {
				to = s.old
			}
		}
		for _, t := range m.transcripts[key] {
			if t.id == to {
				t.said = append(t.said, s.text)
			}
		}
	case "reset":
		switch {
		case s.reason == "bad":
			return session.CodeInvalidReason
		case has != nil:
			m.leave(key, cmp.Or(s.reason, "reset"))
		}
		begin(newID)
	case "delete":
		switch {
		case s.key == modelMain:
			return session.CodeMainSession
		case has == nil:
			return ""
		}
		m.leave(key, "deleted")
		delete(m.sessions, key)
		if !s.keep {
			for _, t := range m.transcripts[key] {
				t.hidden = true
			}
		}
	}
	return ""
}

func (m *model) leave(key, why string) {
	list := m.transcripts[key]
	list[len(list)-1].closed = why
}

// want describes the model as got describes a log.
func (m *model) want() (lines []string) {
	for _, k := range modelKeys {
		key := k.String()
		if s := m.sessions[key]; s != nil {
			list := m.transcripts[key]
			lines = append(lines, fmt.Sprintf("%s is %s, label %q, %v, %d messages", key, s.id, s.label, s.settings, len(list[len(list)-1].said)))
		}
		for _, t := range slices.Backward(m.transcripts[key]) {
			if !t.hidden {
				lines = append(lines, fmt.Sprintf("%s had %s, closed %q: %q", key, t.id, t.closed, t.said))
			}
		}
	}
	return lines
}

func (l *log) got(t testing.TB) (lines []string) {
	t.Helper()
	for _, k := range modelKeys {
		key := k.String()
		if s := l.byKey(t, key); s != nil {
			settings := map[string]string{}
			for name, value := range s.Settings {
				settings[name] = string(value)
			}
			lines = append(lines, fmt.Sprintf("%s is %s, label %q, %v, %d messages", key, s.ID, s.Label, settings, s.Messages))
		}
		for _, tr := range l.transcripts(t, key) {
			var said []string
			for _, m := range l.newest(t, tr.ID, 1000, 1<<20) {
				said = append(said, m.Data.Text)
			}
			lines = append(lines, fmt.Sprintf("%s had %s, closed %q: %q", key, tr.ID, tr.Closed, said))
			if int(tr.Messages) != len(said) {
				lines = append(lines, fmt.Sprintf("of which %d are counted", tr.Messages))
			}
		}
	}
	return lines
}

// Whatever is commanded, sessions are as a simple model has them; and as a fold of the log in any other batches, or a rebuild, gives them.
func TestSessionsAreAsCommanded(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		dir, err := os.MkdirTemp(t.TempDir(), "")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		l := openAt(t, filepath.Join(dir, "log.db"))
		defer func() { l.close(t) }()
		m := &model{map[string]*modelSession{}, map[string][]*modelTranscript{}}
		steps := rapid.SliceOfN(rapid.Custom(drawStep), 1, 40).Draw(rt, "steps")
		for i, s := range steps {
			newID := fmt.Sprint("t", i)
			err := l.command(t.Context(), s.key, int64(i), s.decision(newID))
			var refusal *session.Refusal
			if want := m.do(s, newID); want == "" && err != nil || want != "" && (!errors.As(err, &refusal) || refusal.Reason != want) {
				rt.Fatalf("step %d, %+v: %v, want %q", i, s, err, want)
			}
			if i%13 == 12 {
				l.close(t)
				l = openAt(t, l.path)
			}
			if i%5 > 0 && i < len(steps)-1 {
				continue
			}
			if diff := gocmp.Diff(m.want(), l.got(t)); diff != "" {
				rt.Fatalf("after step %d, %+v (-model +log):\n%s", i, s, diff)
			}
		}
		counts := map[string]int64{}
		for _, k := range modelKeys {
			if m.sessions[k.String()] != nil {
				counts[k.Agent]++
			}
		}
		if got := projectiontest.Read(t, l, sessions.Count); !maps.Equal(got, counts) {
			rt.Fatalf("counted %v, there are %v", got, counts)
		}
		live := l.dump(t)
		events, err := l.Read(t.Context(), 0, 1000)
		if err != nil {
			rt.Fatal(err)
		}
		other := openAt(t, filepath.Join(dir, "other.db"))
		defer other.close(t)
		for rest := events; len(rest) > 0; {
			n := rapid.IntRange(1, len(rest)).Draw(rt, "batch")
			if err := other.Restore(t.Context(), rest[:n]); err != nil {
				rt.Fatal(err)
			}
			rest = rest[n:]
		}
		if err := l.engine.Rebuild(t.Context(), projections.RebuildOptions{}); err != nil {
			rt.Fatal(err)
		}
		for how, tables := range map[string][]string{"in other batches": other.dump(t), "rebuilt": l.dump(t)} {
			if diff := gocmp.Diff(live, tables); diff != "" {
				rt.Fatalf("tables %s (-live +%s):\n%s", how, how, diff)
			}
		}
	})
}

// Of many who want one label at once, one gets it, and the others are told so.
func TestOneOfManyGetsTheLabel(t *testing.T) {
	t.Parallel()
	l := setup(t)
	const many = 24
	errs := make([]error, many)
	var working sync.WaitGroup
	for i := range many {
		working.Go(func() {
			key := coordination.MainKey("eden")
			key.ID = fmt.Sprint("s", i)
			errs[i] = l.patch(t.Context(), key, 0, fmt.Sprint("t", i), `{"label":"배포"}`)
		})
	}
	working.Wait()
	won := 0
	for i, err := range errs {
		var refusal *session.Refusal
		if errors.As(err, &refusal) && refusal.Reason == session.CodeLabelInUse && refusal.Text == "label already in use: 배포" {
			continue
		}
		if won++; err != nil {
			t.Errorf("%d: %v", i, err)
		}
		if s := l.byKey(t, fmt.Sprint("agent:eden:s", i)); s == nil || s.Label != "배포" {
			t.Errorf("%d has won and is %+v", i, s)
		}
	}
	if all := l.list(t, sessions.Query{}); won != 1 || len(all) != 1 {
		t.Errorf("%d have won, %d sessions are there", won, len(all))
	}
}

// A patch that changes nothing appends nothing, whatever it is written in.
func TestPatchingTwiceAppendsOnce(t *testing.T) {
	t.Parallel()
	l := setup(t)
	for i, values := range []string{
		`{}`, `{"label":"<배포> & \u2028 \"x\" 🌿","execNode":"\ud83c\udf3f<n>","model":"a/b"}`, `{"label":null,"execNode":null}`, `{"thinkingLevel":"on","label":" x "}`,
	} {
		key := coordination.MainKey("eden")
		for again := range 3 {
			before, err := l.Head(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if err := l.patch(t.Context(), key, int64(i), "t", values); err != nil {
				t.Fatal(err)
			}
			if after, err := l.Head(t.Context()); err != nil || (after.Seq == before.Seq) != (again > 0) {
				t.Errorf("%s, time %d: the log went from %d to %d, %v", values, again+1, before.Seq, after.Seq, err)
			}
		}
	}
}
