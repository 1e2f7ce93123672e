package projections_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
)

// sessionHistory is the life of two sessions and a change of the configuration's file, as the gateway produces them. Each type occurs
// with all members of its data filled.
func sessionHistory(t *testing.T) (appends []eventstore.StreamAppend) {
	t.Helper()
	add := func(stream, typ string, data any) {
		text, err := json.Marshal(data)
		if err != nil {
			t.Fatal(err)
		}
		n := len(appends) + 1
		appends = append(appends, eventstore.StreamAppend{Stream: stream, Events: []eventstore.NewEvent{{
			ID: eventstore.DerivedID(goldenTime.UnixMilli(), [32]byte{7: byte(n), 8: 2}), Type: typ, AgentID: "eden", Actor: eventstore.ActorHuman,
			TS: goldenTime.UnixMilli() - 3_600_000 + int64(n)*1_000, CorrelationID: "corr-golden", CausationID: "cause-golden", Data: text,
		}}})
	}
	sub, main := coordination.SubagentKey("eden", "u1"), coordination.MainKey("eden")
	says := func(key coordination.SessionKey, id, author, text string, change func(*coordination.SessionMessage)) {
		add(coordination.SessionStream(key), coordination.TypeSessionMessage, filled(func(m *coordination.SessionMessage) {
			m.SessionKey, m.SessionID, m.Author, m.Text = key.String(), id, author, text
			m.Content = json.RawMessage(`[{"type":"text","text":"…"}]`)
			if change != nil {
				change(m)
			}
		}))
	}
	session := func(key coordination.SessionKey, typ, id string, change func(*coordination.Session)) {
		add(coordination.SessionStream(key), typ, filled(func(s *coordination.Session) {
			s.SessionKey, s.SessionID, s.ParentSessionKey, s.PreviousSessionID = key.String(), id, "agent:main:main", "golden-sub-1"
			if change != nil {
				change(s)
			}
		}))
	}

	add(coordination.ConfigStream, coordination.TypeConfigPatched, filled(func(c *coordination.ConfigPatched) {
		c.Method, c.Source, c.Changed = "config.patch", "openclaw.json", []string{"agents.list", "gateway.port"}
	}))
	session(sub, coordination.TypeSessionCreated, "golden-sub-1", nil)
	add(coordination.SessionStream(sub), coordination.TypeSessionPatched, filled(func(p *coordination.SessionPatched) {
		p.SessionKey, p.SessionID, p.Unset = sub.String(), "golden-sub-1", []string{"execNode"}
		p.Set = json.RawMessage(`{"label":"배포","model":"fake/echo-1","spawnDepth":1,"thinkingLevel":"high"}`)
	}))
	says(sub, "golden-sub-1", "user", "배포 파이프라인을 **복구**해 주세요", nil)
	says(sub, "golden-sub-1", "assistant", "확인했습니다", func(m *coordination.SessionMessage) { m.By, m.Label, m.StopReason = "", "", "aborted" })
	says(sub, "golden-sub-1", "tool", "exit 0", nil)
	session(sub, coordination.TypeSessionReset, "golden-sub-2", func(s *coordination.Session) { s.Reason = "new" })
	says(sub, "golden-sub-1", "assistant", "늦은 답", nil)
	says(sub, "golden-sub-2", "system", "다시 시작", nil)
	says(main, "golden-main-1", "user", "[Goal] 로그인 오류를 고친다", nil)
	session(main, coordination.TypeSessionDeleted, "golden-main-1", nil)
	session(main, coordination.TypeSessionCreated, "golden-main-2", func(s *coordination.Session) { s.ParentSessionKey = "" })
	session(main, coordination.TypeSessionDeleted, "golden-main-2", func(s *coordination.Session) { s.TranscriptKept = false })
	says(main, "golden-main-3", "user", "처음부터", nil)
	return appends
}

// filled is data with every member set, except as change says.
func filled[D any](change func(*D)) D {
	var data D
	v := reflect.ValueOf(&data).Elem()
	fill(v, "")
	v.FieldByName("EventRole").SetString(string(coordination.RoleObservability))
	change(&data)
	return data
}
