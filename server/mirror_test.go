package server

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/database"
	"github.com/pronto-lab/openclawd/eventstore"
)

// What the program produces is in the coordination log, and the next start, which imports that, adds nothing.
func TestProgramMirrorsWhatItProduces(t *testing.T) {
	t.Parallel()
	p, ready := testProgram(t)
	p.opts.Mirror = true
	live := filepath.Join(p.opts.StateDir, "logs", "coordination-events.ndjson")
	history := `{"type":"a2a.send","agentId":"eden","ts":` + time.Now().Format("20060102") + `,"data":{"fromAgent":"eden"}}` + "\n"
	if err := errors.Join(os.Mkdir(filepath.Dir(live), 0o700), os.WriteFile(live, []byte(history), 0o600)); err != nil {
		t.Fatal(err)
	}
	var id string
	for start := range 3 {
		ctx := t.Context()
		_, stop := starts(t, p, ready)
		waitFor(t, "catching up", p.caughtUp)
		if start == 0 {
			result, err := p.log.Append(ctx, eventstore.StreamAppend{Stream: "agent/eden", Events: []eventstore.NewEvent{
				{Type: coordination.TypeA2ASend, AgentID: "eden", TS: 42, Actor: eventstore.ActorAgent, Data: []byte(`{"message":"배포","eventRole":"conversation.main"}`)},
				{Type: coordination.TypeRunStarted, AgentID: "eden", Data: []byte(`{"runId":"r1"}`)},
			}})
			if err != nil {
				t.Fatal(err)
			}
			id = result.Events[0].ID.String()
		}
		for tick := time.NewTicker(time.Millisecond); p.mirrorStatus(ctx).Lag > 0 || p.mirrorStatus(ctx).Seq == 0; <-tick.C {
			if state := p.mirrorStatus(ctx); state.Error != "" {
				t.Fatal(state.Error)
			}
		}
		if state := p.mirrorStatus(ctx); !state.On || state.Foreign || state.File != live || (state.Lines == 1) != (start == 0) {
			t.Errorf("start %d: %+v", start, state)
		}
		events, err := p.log.Read(ctx, 0, 10)
		if err != nil || len(events) != 3 {
			t.Errorf("start %d: the log has %d events, %v", start, len(events), err)
		}
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		want := history + `{"type":"a2a.send","agentId":"eden","ts":42,"data":{"message":"배포","eventRole":"conversation.main"},"id":"` + id + `"}` + "\n"
		if text, err := os.ReadFile(live); err != nil || string(text) != want {
			t.Fatalf("start %d: the log is\n%swant\n%s%v", start, text, want, err)
		}
		p = New(p.opts)
		if start == 1 { // as after a kill at the wrong moment
			if err := os.Remove(database.MirrorFile(p.opts.DB)); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestProgramMirrorsOnlyWhenTold(t *testing.T) {
	t.Parallel()
	p, _ := testProgram(t)
	if p.mirror = p.newMirror(); p.mirrorStatus(t.Context()).On || p.runMirror(t.Context()) != nil {
		t.Error("it mirrors without being told to")
	}
}

func TestReadinessTellsOfTheMirror(t *testing.T) {
	t.Parallel()
	var codes []string
	for _, reason := range (&facts{mirror: mirrorState{On: true, Error: "no room", Foreign: true}}).inputReasons() {
		codes = append(codes, string(reason.Code))
	}
	if want := []string{"mirror_failing", "two_producers"}; !slices.Equal(codes, want) {
		t.Errorf("reasons %q, want %q", codes, want)
	}
}
