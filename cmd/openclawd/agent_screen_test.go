package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/gateway/client"
	"github.com/pronto-lab/openclawd/gateway/protocol"
)

// An answer is printed once, whatever comes of it: pieces that were missed come with later ones or at the end, and an answer that starts
// again begins on a line of its own.
func TestScreenPrintsAnAnswerOnce(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		texts []string
		whole string
		want  string
	}{
		"whole at the end":      {nil, "all of it", "all of it\n"},
		"piece by piece":        {[]string{"all", "all of", "all of it"}, "all of it", "all of it\n"},
		"with a gap":            {[]string{"a", "all of"}, "all of it", "all of it\n"},
		"again after a tool":    {[]string{"I look.", "It", "It is there"}, "It is there", "I look.\nIt is there\n"},
		"several parts":         {[]string{"one", "two"}, "two", "one\ntwo\n"},
		"with a line's end":     {[]string{"one\n"}, "one\n", "one\n"},
		"nothing":               {nil, "", ""},
		"broken off":            {[]string{"all o"}, "", "all o\n"},
		"another one than told": {[]string{"all"}, "none", "all\nnone\n"},
	} {
		var out strings.Builder
		s := screen{out: &out, notes: &out}
		for _, text := range c.texts {
			s.text(text)
		}
		if err := s.end(c.whole); err != nil || out.String() != c.want {
			t.Errorf("%s: %q, want %q (%v)", name, out.String(), c.want, err)
		}
	}
}

// A terminal is not steered by what a model says, nor by what tools are called with.
func TestScreenEscapesControlCharacters(t *testing.T) {
	t.Parallel()
	var out, notes strings.Builder
	s := screen{out: &out, notes: &notes, terminal: true, noted: true}
	s.text("a\x1b[2J\tb\nc")
	s.tool("exec {\"x\":\"\x1b]0;t\a\"}")
	if err := s.end(""); err != nil || out.String() != "a\uFFFD[2J\tb\nc\n" || notes.String() != "→ exec {\"x\":\"\uFFFD]0;t\uFFFD\"}\n" {
		t.Errorf("%q, %q, %v", out.String(), notes.String(), err)
	}
}

// Tools stand out less than what is said, unless someone wants no colours; where no one looks at notes there are none.
func TestScreenDimsTools(t *testing.T) {
	t.Parallel()
	for want, s := range map[string]screen{"\x1b[2m→ look {}\x1b[0m\n": {noted: true, dim: true}, "→ look {}\n": {noted: true}, "": {dim: true}} {
		var out, notes strings.Builder
		s.out, s.notes = &out, &notes
		if s.tool("look {}"); notes.String() != want || out.Len() != 0 {
			t.Errorf("%q, %q, want %q", notes.String(), out.String(), want)
		}
	}
	for value, want := range map[string]bool{"": true, "1": false} {
		if s := newScreen(&process{getenv: func(string) string { return value }}); s.dim != want {
			t.Errorf("NO_COLOR=%q: dim %v", value, s.dim)
		}
	}
}

// A gateway that has no room says how many are before, and the command may be tried again.
func TestFullGatewayIsBusy(t *testing.T) {
	t.Parallel()
	var why protocol.Error
	err := json.Unmarshal([]byte(`{"code":"UNAVAILABLE","message":"session agent:eden:main is full","retryable":true,
		"details":{"code":"busy","queueAhead":5000,"waitedMs":1500,"hint":"wait"}}`), &why)
	if err != nil {
		t.Fatal(err)
	}
	err = newExchange(&process{getenv: os.Getenv}, agentFlags{}, "id").refused(fmt.Errorf("agent: %w", &why))
	if exitCode(err) != exitAgain || err.Error() != "session agent:eden:main is full: 5,000 messages ahead, the first has waited 1.5s" {
		t.Errorf("exit %d: %v", exitCode(err), err)
	}
	why.Details = nil
	if err = newExchange(&process{getenv: os.Getenv}, agentFlags{}, "id").refused(&why); err.Error() == "" || errors.As(err, new(*busyError)) {
		t.Errorf("for another reason: %v", err)
	}
}

// Of a text that grows the newest is kept, of a run the order of what happened, and of other runs nothing.
func TestEventBufferKeepsNewestText(t *testing.T) {
	t.Parallel()
	h := newEventBuffer("mine")
	hear := func(run, stream, data string) {
		h.add(client.Event{Name: "agent", Payload: json.RawMessage(fmt.Sprintf(`{"runId":%q,"sessionKey":"agent:eden:main","stream":%q,"data":%s}`, run, stream, data))})
	}
	hear("mine", "lifecycle", `{"phase":"start"}`)
	hear("other", "assistant", `{"text":"not mine"}`)
	hear("mine", "assistant", `{"text":"I"}`)
	hear("mine", "assistant", `{"text":"I look."}`)
	hear("mine", "tool", `{"phase":"start","name":"look","args":{"at":1}}`)
	hear("mine", "tool", `{"phase":"result","name":"look"}`)
	hear("mine", "assistant", `{"text":"It"}`)
	hear("mine", "assistant", `{"text":"It is"}`)
	h.add(client.Event{Name: "chat", Payload: json.RawMessage(`{"runId":"mine"}`)})
	h.add(client.Event{Name: "agent", Payload: json.RawMessage(`[]`)})
	want := []piece{{text: "I look."}, {tool: `look {"at":1}`}, {text: "It is"}}
	if diff := cmp.Diff(want, h.drain(), cmp.AllowUnexported(piece{})); diff != "" || h.key() != "agent:eden:main" || len(h.drain()) != 0 {
		t.Errorf("(-want +got)\n%s, key %s", diff, h.key())
	}
}

// What the gateway is asked for is what the flags mean: a bare name is a session of the agent that is named.
func TestAgentFlagsSelectTheSession(t *testing.T) {
	t.Parallel()
	for want, flags := range map[string]agentFlags{
		"main": {}, "agent:eden:main": {agent: "Eden"}, "agent:eden:lab": {agent: "eden", session: "lab"}, "lab": {session: "lab"},
		"agent:seum:x": {agent: "eden", session: "agent:seum:x"}, // which the gateway refuses
	} {
		if got := flags.key(); got != want {
			t.Errorf("%+v: %s, want %s", flags, got, want)
		}
	}
}
