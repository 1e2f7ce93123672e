package server

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/redaction"
	"github.com/pronto-lab/openclawd/coordination/work"
	"github.com/pronto-lab/openclawd/database"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/projectiontest"
	"github.com/pronto-lab/openclawd/projections/redactions"
	"github.com/pronto-lab/openclawd/tools/a2atest"
)

// The texts to redact, in two alphabets.
const (
	secretWord  = "하늘색코끼리"
	secretToken = "elephant-SECRET-42"
	secretText  = "금고의 비밀번호는 " + secretWord + " 이고 열쇠는 " + secretToken + " 입니다"
)

// encodings are how a text may stand in a file.
func encodings(text string) map[string][]byte {
	all := map[string][]byte{"UTF-8": []byte(text)}
	var little, big []byte
	var lower, upper strings.Builder
	for _, unit := range utf16.Encode([]rune(text)) {
		little, big = binary.LittleEndian.AppendUint16(little, unit), binary.BigEndian.AppendUint16(big, unit)
		fmt.Fprintf(&lower, `\u%04x`, unit)
		fmt.Fprintf(&upper, `\u%04X`, unit)
	}
	all["UTF-16LE"], all["UTF-16BE"], all["escaped"], all["ESCAPED"] = little, big, []byte(lower.String()), []byte(upper.String())
	return all
}

// holders names the files below a directory that hold what has to go, in any encoding.
func holders(t *testing.T, dir string) (found []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, secret := range []string{secretWord, secretToken} {
			for name, form := range encodings(secret) {
				if bytes.Contains(content, form) {
					found = append(found, strings.TrimPrefix(path, dir)+" has "+secret+" in "+name)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// asks posts JSON to the API, and decodes its answer.
func (r *reloading) asks(t *testing.T, path string, body, into any) (status int) {
	t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.Post(r.url+path, "application/json", bytes.NewReader(text)) //nolint:noctx
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(answer, into); err != nil {
		t.Fatalf("%s answers %s: %v", path, answer, err)
	}
	return response.StatusCode
}

// order is the answer to POST /api/redactions, as far as tests look at it.
type order struct {
	Error, Code, Field string
	Count              int
	Matches            []redaction.Match
	Refused            []redaction.Refused
	Kept               []coordination.RedactionTrace
	Redaction          *redactions.Redaction
}

// forgotten waits until a redaction is.
func (r *reloading) forgotten(t *testing.T, id string) (x redactions.Redaction) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), longest)
	defer stop()
	for {
		head, err := r.Program.log.Head(ctx)
		if err != nil {
			t.Fatal(err)
		}
		response, err := http.Get(r.url + "/api/redactions/" + id) //nolint:noctx
		if err != nil {
			t.Fatal(err)
		}
		err = json.NewDecoder(response.Body).Decode(&x)
		response.Body.Close()
		switch {
		case err != nil:
			t.Fatal(err)
		case x.State == redactions.Forgotten:
			return x
		}
		if _, err := r.Program.log.Wait(ctx, head.Seq+1); err != nil {
			t.Fatalf("redaction %s is %s: %+v, %v", id, x.State, x.Progress, err)
		}
	}
}

// happens appends an event.
func (r *reloading) happens(t *testing.T, stream, typ, agent string, data any) int64 {
	t.Helper()
	text, err := json.Marshal(data)
	if err != nil {
		t.Fatal(err)
	}
	result, err := r.Program.log.Append(t.Context(), eventstore.StreamAppend{Stream: stream, Events: []eventstore.NewEvent{{Type: typ, AgentID: agent, Data: text}}})
	if err != nil {
		t.Fatal(err)
	}
	return result.Seq
}

// redactionTeam is a state directory in which a secret was told in every way that this program knows.
func redactionTeam(t *testing.T) *liveTeam {
	t.Helper()
	tell := func(name string, args map[string]any) a2atest.Call { return a2atest.Call{Name: name, Args: args} }
	return startTeam(t, []string{"ruda", "eden"}, plays(t,
		does("ruda", secretText, "알겠습니다: "+secretText,
			tell("task_start", map[string]any{"description": secretText, "context": "why " + secretToken, "priority": "high", "steps": []map[string]string{{"content": "open " + secretWord}}}),
			tell("task_update", map[string]any{"action": "add_progress", "progress": secretText}),
			tell("sessions_send", map[string]any{"agentId": "eden", "message": secretText, "timeoutSeconds": 20})),
		does("eden", secretToken, "I know "+secretText, tell("task_start", map[string]any{"description": "over soon " + secretText}),
			tell("task_complete", map[string]any{"summary": "done with " + secretToken})),
		scene{"", "", nil},
	), func(o *Options) {
		o.Mirror = true
		for name, text := range map[string]string{
			"logs/coordination-events-2026-01.ndjson": `{"type":"a2a.send","agentId":"ruda","ts":1767225600000,"data":{"message":"` + secretText + `","fromAgent":"ruda","toAgent":"eden","conversationId":"c1"}}` + "\n" +
				`{"type":"a2a.send","agentId":"ruda","ts":1767225600001,"data":{"message":"harmless"}}` + "\n" + `{"torn ` + secretText + "\n",
			"workspace-eden/tasks/task_old1.md":      "# Task: task_old1\n\n## Metadata\n- **Status:** in_progress\n- **Priority:** medium\n- **Created:** 2026-01-02T03:04:05.000Z\n\n## Description\n" + secretText + "\n\n## Progress\n- " + secretToken + "\n",
			"workspace-eden/task-history/2026-01.md": "# Task History - 2026-01\n\n---\n## [2026-01-05T06:07:08.000Z] " + secretText + "\n\n- **Task ID:** task_old2\n",
		} {
			path := filepath.Join(o.StateDir, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// After a redaction the text is nowhere in our files, in no encoding; the tables equal a rebuild, the log verifies, and no import brings
// it back.
//
// Promise: redaction
func TestRedactedTextIsNowhere(t *testing.T) {
	t.Parallel()
	team := redactionTeam(t)
	team.tell(t, "ruda", "k1", secretText)
	settles(t, team.Program)
	hook := work.Stream("hook/1")
	team.happens(t, hook, coordination.TypeWorkScheduled, "ruda", coordination.WorkScheduled{EffectID: "hook/1", Kind: "webhook", Key: "hook", Pool: "webhooks",
		DueAtMs: time.Now().Add(48 * time.Hour).UnixMilli(), Payload: json.RawMessage(`{"event":{"text":"` + secretText + `"}}`)})
	if found := holders(t, team.opts.StateDir); len(found) < 5 {
		t.Fatalf("the secret stands only in %q before: this test proves little", found)
	}

	var dry, real order
	if status := team.asks(t, "/api/redactions", map[string]any{"text": secretWord, "dryRun": true}, &dry); status != http.StatusOK || dry.Redaction != nil || dry.Count < 8 {
		t.Fatalf("dry run: %d %+v", status, dry)
	}
	for _, secret := range []string{secretWord, secretToken} {
		real = order{}
		if status := team.asks(t, "/api/redactions", map[string]any{"text": secret, "reason": "told by mistake", "by": "민수"}, &real); status != http.StatusOK {
			t.Fatalf("%d %+v", status, real)
		}
		x := team.forgotten(t, real.Redaction.ID)
		if len(x.Kept) > 0 || len(x.Projections) != len(database.Projections(team.opts.Rules)) {
			t.Errorf("%+v: want nothing kept, and all tables rebuilt", x)
		}
	}
	last, err := team.Program.log.ReadStream(t.Context(), hook, 1, 1)
	if err != nil || len(last) != 1 || last[0].Type != coordination.TypeWorkCancelled || !strings.Contains(string(last[0].Data), `"reason":"redacted"`) {
		t.Errorf("the webhook ends with %+v, %v; want it cancelled", last, err)
	}
	settles(t, team.Program)
	_ = team.client.Close()
	if err := team.stop(); err != nil {
		t.Fatal(err)
	}
	if found := holders(t, team.opts.StateDir); len(found) > 0 {
		t.Errorf("left: %q", found)
	}
	provesRedacted(t, team.opts)

	before := headOf(t, team.opts)
	team.restart2(t)
	if after, err := team.Program.log.Head(t.Context()); err != nil || after.Seq != before {
		t.Errorf("the log went from %d to %d (%v) at the next start: want nothing imported again", before, after.Seq, err)
	}
	if err := team.stop(); err != nil {
		t.Fatal(err)
	}
	if found := holders(t, team.opts.StateDir); len(found) > 0 {
		t.Errorf("left after a restart: %q", found)
	}
}

// restart2 runs the program again after it was stopped.
func (team *liveTeam) restart2(t *testing.T) {
	t.Helper()
	team.Program = New(team.opts)
	team.start(t)
}

func headOf(t *testing.T, o Options) int64 {
	t.Helper()
	log, err := database.OpenToRead(t.Context(), o.DB, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	head, err := log.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return head.Seq
}

// provesRedacted proves that a log verifies, and that its tables are what a rebuild gives.
func provesRedacted(t *testing.T, o Options) {
	t.Helper()
	log, err := sqlite.Open(t.Context(), sqlite.Options{Path: o.DB})
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	if proof, err := log.Verify(t.Context(), false, nil); err != nil || proof.Redacted == 0 {
		t.Errorf("%+v, %v", proof, err)
	}
	defs := database.Projections(o.Rules)
	before := projectiontest.Dump(t, log, defs...)
	engine, err := projections.Start(t.Context(), log, defs, projections.Options{Rules: o.Rules})
	if err == nil {
		err = engine.Rebuild(t.Context(), projections.RebuildOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, projectiontest.Dump(t, log, defs...)); diff != "" {
		t.Errorf("tables are not what a rebuild gives: %s", diff)
	}
}

// In follow mode lines of the other gateway are overwritten while it goes on writing: each later line is read once, nothing twice, and a
// repetition of the text before the end is redacted, too.
func TestRedactionWhileAnotherGatewayWrites(t *testing.T) {
	t.Parallel()
	line := func(n int, text string) string {
		return fmt.Sprintf(`{"type":"a2a.send","agentId":"ruda","ts":%d,"data":{"n":"n%d","message":%q,"fromAgent":"ruda","toAgent":"eden"}}`+"\n", 1771588800000+n, n, text)
	}
	var live string
	r := startReloading(t, nil, func(o *Options) {
		o.Follow = true
		live = filepath.Join(o.StateDir, "logs", "coordination-events.ndjson")
		if err := os.MkdirAll(filepath.Dir(live), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(live, []byte(line(0, "harmless")+line(1, secretText)+line(2, "kept")), 0o600); err != nil {
			t.Fatal(err)
		}
	})
	file, err := os.OpenFile(live, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	const lines = 200
	written := make(chan error, 1)
	go func() {
		for n := 3; n < lines; n++ {
			text := "more"
			if n < 6 {
				text = "again: " + secretText
			}
			if _, err := file.WriteString(line(n, text)); err != nil {
				written <- err
				return
			}
		}
		written <- nil
	}()
	var answer order
	if status := r.asks(t, "/api/redactions", map[string]any{"text": secretToken, "by": "민수"}, &answer); status != http.StatusOK {
		t.Fatalf("%d %+v", status, answer)
	}
	if err := <-written; err != nil {
		t.Fatal(err)
	}
	r.forgotten(t, answer.Redaction.ID)
	count := func() (n int) {
		events, err := r.Program.log.Read(t.Context(), 0, sqlite.MaxPage)
		if err != nil {
			t.Fatal(err)
		}
		for i := range events {
			if events[i].Type == coordination.TypeA2ASend {
				n++
			}
		}
		return n
	}
	for late := time.Now().Add(longest); count() < lines; {
		if time.Now().After(late) {
			t.Fatalf("%d lines are stored, want %d", count(), lines)
		}
	}
	again := order{}
	if r.asks(t, "/api/redactions", map[string]any{"text": secretToken}, &again); again.Redaction != nil { // what came after the end
		r.forgotten(t, again.Redaction.ID)
	}
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	if found := holders(t, r.opts.StateDir); len(found) > 0 {
		t.Errorf("left: %q", found)
	}
	provesRedacted(t, r.opts)
	before := headOf(t, r.opts)
	if err := os.Remove(database.PositionsFile(r.opts.DB)); err != nil {
		t.Fatal(err)
	}
	r.Program = New(r.opts)
	r.start(t)
	if n := count(); n != lines {
		t.Errorf("%d lines are stored once all were read again (the log ended at %d), want %d", n, before, lines)
	}
}
