package sessiontools_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/eventstore/storetest"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/projectiontest"
	"github.com/pronto-lab/openclawd/projections/runs"
	"github.com/pronto-lab/openclawd/projections/sessions"
	"github.com/pronto-lab/openclawd/projections/workqueue"
	"github.com/pronto-lab/openclawd/tools"
	"github.com/pronto-lab/openclawd/tools/sessiontools"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// base is what times in these tests are relative to, ms since 1970, and now what the clock shows: ten hours later.
const (
	base = 1_790_000_000_000
	now  = base + 10*3_600_000
)

// secret is one that a person has written into a session.
const secret = "sk-abcdefghijklmnop0123456789"

// apiKey is in the configuration, and nowhere else.
const apiKey = "fixture-key-of-a-provider"

// fixture is a log with sessions of three agents, and the tools on it.
type fixture struct {
	*sqlite.DB
	config *config.Config
	box    *tools.Registry
	checks func(ref string) error
}

func definitions() []projections.Definition {
	return []projections.Definition{sessions.Definition(), workqueue.Definition(), runs.Definition()}
}

var emptyLog = storetest.File(projectiontest.Empty(func(path string) (projectiontest.Log, error) {
	return sqlite.Open(context.Background(), sqlite.Options{Path: path, Durability: sqlite.DurabilityRelaxed})
}, definitions()...))

// setup makes the tools with a configuration, and a log with events in it.
func setup(t testing.TB, settings string, events ...eventstore.NewEvent) *fixture {
	t.Helper()
	dir := t.TempDir()
	file, path := filepath.Join(dir, "openclaw.json"), filepath.Join(dir, "log.db")
	empty, err := emptyLog()
	if err != nil {
		t.Fatal(err)
	}
	whole := `{
		models: {mode: 'replace', providers: {fake: {baseUrl: 'http://127.0.0.1:9/v1', apiKey: '` + apiKey + `', api: 'openai-completions', models: [
			{id: 'echo-1', contextWindow: 128000}, {id: 'echo-2', contextWindow: 64000}]}}},
		agents: {defaults: {model: {primary: 'fake/echo-1'}}, list: [{id: 'main', default: true}, {id: 'eden', name: 'Eden'}, {id: 'seum'}]},
		` + settings + `}`
	if err := errors.Join(os.WriteFile(path, empty, 0o600), os.WriteFile(file, []byte(whole), 0o600)); err != nil {
		t.Fatal(err)
	}
	f := &fixture{}
	var findings config.Findings
	if f.config, findings = config.Load(file, func(string) string { return "" }); findings.Err() != nil {
		t.Fatal(findings.Err())
	}
	if f.DB, err = sqlite.Open(t.Context(), sqlite.Options{Path: path, Durability: sqlite.DurabilityRelaxed}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	if _, err = projections.Start(t.Context(), f.DB, definitions(), projections.Options{Rules: coordination.RulesV2}); err != nil {
		t.Fatal(err)
	}
	f.append(t, events...)
	ids := 0
	f.box, err = tools.New(tools.Options{Config: func() *config.Config { return f.config }, Logger: slog.New(slog.DiscardHandler),
		Tools: sessiontools.Tools(sessiontools.Options{
			Log: f.DB, Now: func() time.Time { return time.UnixMilli(now).UTC() },
			NewID: func() string { ids++; return fmt.Sprint("new-", ids) },
			CheckModel: func(ref string) error {
				if f.checks == nil {
					return nil
				}
				return f.checks(ref)
			},
		})})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func (f *fixture) append(t testing.TB, events ...eventstore.NewEvent) {
	t.Helper()
	if len(events) == 0 {
		return
	}
	if _, err := f.Append(t.Context(), eventstore.StreamAppend{Stream: "log", Events: events}); err != nil {
		t.Fatal(err)
	}
}

// call calls a tool in the name of a session, and reads what it says into R.
func call[R any](t testing.TB, f *fixture, key, name, args string) (result R, out tool.Output) {
	t.Helper()
	out, err := f.box.Call(t.Context(), caller(key), name, json.RawMessage(args))
	if err != nil {
		t.Fatalf("%s %s: %v", name, args, err)
	}
	if err := json.Unmarshal(out.Details, &result); err != nil {
		t.Fatalf("%s %s: %v in %s", name, args, err, out.Details)
	}
	for _, hidden := range []string{secret, apiKey} {
		if strings.Contains(out.Text+string(out.Details), hidden) {
			t.Errorf("%s %s tells %s", name, args, hidden)
		}
	}
	return result, out
}

// event is one of ours, minutes after base. data is its data without the braces.
func event(minutes int64, typ, data string) eventstore.NewEvent {
	return eventstore.NewEvent{Type: typ, AgentID: "eden", Data: json.RawMessage("{" + data + "}")}.WithTS(base + minutes*60_000)
}

// made is a session that begins.
func made(minutes int64, key, id, spawner, label string) []eventstore.NewEvent {
	data := fmt.Sprintf(`"sessionKey":%q,"sessionId":%q`, key, id)
	if spawner != "" {
		data += fmt.Sprintf(`,"parentSessionKey":%q`, spawner)
	}
	events := []eventstore.NewEvent{event(minutes, coordination.TypeSessionCreated, data)}
	if label != "" {
		events = append(events, event(minutes, coordination.TypeSessionPatched, fmt.Sprintf(`"sessionKey":%q,"set":{"label":%q}`, key, label)))
	}
	return events
}

// said is a message. more is more of its data.
func said(minutes int64, key, author, text string, more ...string) eventstore.NewEvent {
	quoted, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	data := fmt.Sprintf(`"sessionKey":%q,"author":%q,"text":%s`, key, author, quoted)
	return event(minutes, coordination.TypeSessionMessage, strings.Join(append([]string{data}, more...), ","))
}

// team are the sessions of three agents.
func team() (events []eventstore.NewEvent) {
	for _, some := range [][]eventstore.NewEvent{
		made(0, "agent:main:main", "id-main", "", ""),
		made(1, "agent:eden:main", "id-eden", "", ""),
		made(2, "agent:eden:discord:channel:77", "id-channel", "", "일반 대화"),
		made(3, "agent:eden:subagent:s1", "id-s1", "agent:eden:main", "조사"),
		made(4, "agent:eden:subagent:s2", "id-s2", "agent:eden:subagent:s1", ""),
		made(5, "agent:seum:main", "id-seum", "", "seum-desk"),
		made(6, "agent:seum:subagent:x", "id-x", "agent:eden:main", ""),
		made(7, "agent:main:cron:daily", "id-cron", "", ""),
		made(8, "global", "id-global", "", ""),
		{
			said(9, "agent:eden:main", "user", "안녕하세요, 이슈를 봐 주세요. 열쇠는 "+secret, `"channel":"discord","to":"user:5","accountId":"bot"`),
			said(10, "agent:eden:main", "assistant", "", `"provider":"fake","model":"echo-2","stopReason":"toolUse","content":[
				{"type":"thinking","thinking":"속으로","thinkingSignature":"zzz"},
				{"type":"toolCall","id":"c1","name":"lookup","arguments":{"q":"이슈 5","password":"hunter22","n":12345678901234567890}}]`),
			said(11, "agent:eden:main", "tool", "찾은 것", `"toolCallId":"c1","toolName":"lookup"`),
			said(12, "agent:eden:main", "assistant", "다 봤습니다.", `"provider":"fake","model":"echo-2","stopReason":"stop","usage":{"input":900,"output":100,"total":1000}`),
			said(13, "agent:seum:main", "user", "세움의 일"),
		},
	} {
		events = append(events, some...)
	}
	return events
}

// caller is a run of a session's.
func caller(key string) tool.Caller {
	return tool.Caller{Entry: tool.ByRun, SessionKey: key, RunID: "r1"}
}
