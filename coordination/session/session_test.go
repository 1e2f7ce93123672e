package session_test

import (
	"errors"
	"testing"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/session"
)

func TestReset(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		state        session.State
		reason, want string
	}{
		{state(main, "", `{}`), "new", `session.reset {"sessionKey":"agent:eden:main","sessionId":"new","previousSessionId":"t1","reason":"new","by":"cli"}` + "\n"},
		{state(main, "", `{}`), "", `session.reset {"sessionKey":"agent:eden:main","sessionId":"new","previousSessionId":"t1","reason":"reset","by":"cli"}` + "\n"},
		{session.State{Key: main}, "reset", `session.created {"sessionKey":"agent:eden:main","sessionId":"new","by":"cli"}` + "\n"},
	} {
		if got, err := session.Reset(c.state, session.ResetCommand{Command: command, Reason: c.reason}); show(got) != c.want || err != nil {
			t.Errorf("%s: %s, %v", c.reason, show(got), err)
		}
	}
	got, err := session.Reset(state(main, "", `{}`), session.ResetCommand{Reason: "bad"})
	wantRefusal(t, got, err, session.CodeInvalidReason, `invalid reason (use "new"|"reset")`)
}

func TestDelete(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		state session.State
		keep  bool
		want  string
	}{
		{state(main, "", `{}`), false, `session.deleted {"sessionKey":"agent:eden:main","sessionId":"t1","by":"cli"}` + "\n"},
		{state(main, "", `{}`), true, `session.deleted {"sessionKey":"agent:eden:main","sessionId":"t1","by":"cli","transcriptKept":true}` + "\n"},
		{session.State{Key: main}, false, ""},
	} {
		d := session.DeleteCommand{Command: command, Main: coordination.MainKey("main"), KeepTranscript: c.keep}
		if got, err := session.Delete(c.state, d); show(got) != c.want || err != nil {
			t.Errorf("%s, %v", show(got), err)
		}
	}
	for _, s := range []session.State{state(main, "", `{}`), {Key: main}} {
		got, err := session.Delete(s, session.DeleteCommand{Main: main})
		wantRefusal(t, got, err, session.CodeMainSession, "Cannot delete the main session (agent:eden:main).")
	}
}

func TestSay(t *testing.T) {
	t.Parallel()
	said := coordination.SessionMessage{Author: "assistant", Text: "안녕", MessageID: "m1"}
	elsewhere := said
	elsewhere.SessionID = "t0"
	for _, c := range []struct {
		state   session.State
		message coordination.SessionMessage
		want    string
	}{
		{state(main, "", `{}`), said, `session.message {"sessionKey":"agent:eden:main","sessionId":"t1","messageId":"m1","author":"assistant","text":"안녕"}` + "\n"},
		{state(main, "", `{}`), elsewhere, `session.message {"sessionKey":"agent:eden:main","sessionId":"t0","messageId":"m1","author":"assistant","text":"안녕"}` + "\n"},
		{session.State{Key: main}, said, `session.created {"sessionKey":"agent:eden:main","sessionId":"new","by":"cli"}` + "\n" +
			`session.message {"sessionKey":"agent:eden:main","sessionId":"new","messageId":"m1","author":"assistant","text":"안녕"}` + "\n"},
	} {
		if got, err := session.Say(c.state, session.SayCommand{Command: command, Message: c.message}); show(got) != c.want || err != nil {
			t.Errorf("%s, %v", show(got), err)
		}
	}
	got, err := session.Say(session.State{Key: main}, session.SayCommand{Message: said, Existing: true})
	wantRefusal(t, got, err, session.CodeNoSession, "session not found")
	got, err = session.Say(state(main, "", `{}`), session.SayCommand{Message: coordination.SessionMessage{Author: "nix"}})
	wantRefusal(t, got, err, session.CodeInvalidMessage, `invalid author (use "user"|"assistant"|"tool"|"system")`)
}

func wantRefusal(t *testing.T, got []session.Event, err error, code, text string) {
	t.Helper()
	var refusal *session.Refusal
	if len(got) > 0 || !errors.As(err, &refusal) || refusal.Reason != code || refusal.Text != text || refusal.Error() != text {
		t.Errorf("%#v, %s, want %s %s", err, show(got), code, text)
	}
}
