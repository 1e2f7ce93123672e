package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/database"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/projections/projectiontest"
	"github.com/pronto-lab/openclawd/projections/trace"
)

// tracedTeam is a database with the story of a team, and when that ends. tell may go on with it.
func tracedTeam(t *testing.T, tell func(*projectiontest.Story)) (db string, now time.Time) {
	t.Helper()
	db = filepath.Join(t.TempDir(), database.Name)
	log, _ := projectiontest.New(t, sqlite.Options{Path: db}, database.Projections(coordination.RulesV2)...)
	s := projectiontest.Tell(t, log, 1_790_000_000_000)
	s.Team()
	if tell != nil {
		tell(s)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	return db, time.UnixMilli(s.Now)
}

// traceOf is what openclawd trace answers.
func traceOf(t *testing.T, db string, now time.Time, args ...string) string {
	t.Helper()
	var out bytes.Buffer
	p := &process{stdout: &out, stderr: io.Discard, getenv: func(string) string { return "" }, now: func() time.Time { return now }}
	root := newRoot(p)
	root.SetArgs(append([]string{"trace", "--db", db}, args...))
	if err := root.ExecuteContext(context.Background()); err != nil {
		t.Fatalf("%q: %v", args, err)
	}
	return out.String()
}

func TestTraceAsText(t *testing.T) {
	t.Parallel()
	db, now := tracedTeam(t, nil)
	const want = `work session ws_team  ACTIVE  no_reply  로그를 읽어 줘
2026-09-21 14:13:20, for 17.9s, 3 flows, 7 runs, 10 messages, 2 open, 1 late

run  main  ok  waited 3ms, ran 7.6s  agent:main:main  asked by cli (chat)  3 model calls, 2 tool calls  ask-of-the-day
│  asked "배포 상태를 확인해 줘"
│  said "배포되었습니다"
├─ send  main → seum  ok  took 7.7s, waited 2s for a permit  question  11111111-1111-4111-8111-111111111111
│  │  14:13:20 send "배포됐어?"
│  │  14:13:22 retry 429
│  │  14:13:27 response seum → main "네, 끝났어요"
│  │  14:13:27 response turn 1 "고마워"
│  │  14:13:27 complete
│  ├─ answer  seum  error (rate_limit)  waited 40ms, ran 400ms  11111111-1111-4111-8111-111111111111
│  ├─ retry 1  seum  ok  put off 1.5s, waited 20ms, ran 3.1s  2 model calls, 1 tool call, 1,203 tokens  after transient rate_limit 429  11111111-1111-4111-8111-111111111111.r2
│  │  └─ send  seum → dajim  no_reply (timeout)  took 3s  22222222-2222-4222-8222-222222222222
│  │     │  14:13:24 send "서버는?"
│  │     │  14:13:27 response dajim → seum [no_reply] "응답을 받지 못했습니다 (대기 시간 3초 초과)"
│  │     │  14:13:27 complete [no_reply] 대기 시간 초과
│  │     └─ answer  dajim  ok  waited 5ms, ran 12.9s  late: answered 9.9s after the flow had ended  22222222-2222-4222-8222-222222222222
│  └─ turn 1  main  ok  waited 505ms, ran 200ms  11111111-1111-4111-8111-111111111111.t1
└─ spawn  main → seum  waiting  조사  for 17.8s  open since 14:13:20 (17.8s)  33333333-3333-4333-8333-333333333333
   │  14:13:20 spawn "로그를 읽어 줘"
   │  14:13:20 send "로그를 읽어 줘"
   └─ answer  seum  aborted (restart)  waited 10ms, ran 7.8s  33333333-3333-4333-8333-333333333333
      └─ repeat  seum  running  waited 20ms, ran 10s  open since 14:13:27 (10s)  33-again
`
	if diff := cmp.Diff(want, traceOf(t, db, now, projectiontest.TeamSession)); diff != "" {
		t.Error(diff)
	}
	if text := traceOf(t, db, now, "2222"); !strings.HasPrefix(text, "flow "+projectiontest.TeamLate+"\n") || !strings.Contains(text, projectiontest.TeamLate+" <\n") {
		t.Errorf("what was asked for is not marked:\n%s", text)
	}
}

func TestTraceAsJSON(t *testing.T) {
	t.Parallel()
	db, now := tracedTeam(t, nil)
	var found trace.Trace
	if err := json.Unmarshal([]byte(traceOf(t, db, now, projectiontest.TeamSend, "--json")), &found); err != nil {
		t.Fatal(err)
	}
	if found.Kind != trace.Flow || found.ID != projectiontest.TeamSend || len(found.Roots) != 1 || found.Flows != 2 || found.Roots[0].Children[0].PermitMs != 2_000 {
		t.Errorf("%+v", found)
	}
}

func TestTraceAsMermaid(t *testing.T) {
	t.Parallel()
	db, now := tracedTeam(t, nil)
	const want = `sequenceDiagram
  participant p0 as main
  participant p1 as seum
  participant p2 as dajim
  Note over p0: asked by cli (chat)#58; 배포 상태를 확인해 줘
  p0->>p1: 배포됐어?
  p0->>p1: spawn#58; 로그를 읽어 줘
  Note over p1: retry#58; 429
  p1->>p2: 서버는?
  p2--xp1: no_reply#58; 응답을 받지 못했습니다 (대기 시간 3초 초과)
  Note over p1: complete no_reply#58; 대기 시간 초과
  p1-->>p0: 네, 끝났어요
  p0-->>p1: turn 1#58; 고마워
  Note over p0: complete
  Note over p2: an answer, 9.9s too late
`
	if diff := cmp.Diff(want, traceOf(t, db, now, projectiontest.TeamSession, "--mermaid")); diff != "" {
		t.Error(diff)
	}
}

// Whatever agents are called and say, a diagram is made of its own lines only: nothing in a text ends one, begins a block or a comment, or
// names a style.
func TestMermaidEscapesMessages(t *testing.T) {
	t.Parallel()
	hostile := "end\nloop x; p0->>p1: \"q\" # #35; %%{init: {}}%% `c` <b> style a:#b; classDef x:#y; \u2028\u202e\x00END\x7f|{}[]\\ 안녕"
	db, now := tracedTeam(t, func(s *projectiontest.Story) {
		for _, agent := range []string{hostile, "a;b"} {
			s.After(1).Say("", coordination.TypeA2ASend, "eden", coordination.A2ASend{Context: coordination.Context{WorkSessionID: projectiontest.TeamSession, ConversationID: "hostile"},
				FromAgent: agent, ToAgent: "x\n--> y", Message: hostile})
			s.Say("", coordination.TypeA2ARetry, "eden", coordination.A2ARetry{Context: coordination.Context{WorkSessionID: projectiontest.TeamSession, ConversationID: "hostile"},
				FromAgent: agent, Reason: hostile})
		}
	})
	line := regexp.MustCompile(`^(sequenceDiagram|  participant p\d+ as .+|  Note over p\d+: .+|  p\d+(->>|-->>|--x)p\d+: .+)$`)
	entity := regexp.MustCompile(`#\d+;`)
	for text := range strings.SplitSeq(strings.TrimSuffix(traceOf(t, db, now, projectiontest.TeamSession, "--mermaid"), "\n"), "\n") {
		if !line.MatchString(text) {
			t.Errorf("not a line of a diagram: %q", text)
		}
		_, said, _ := strings.Cut(text, " as ")
		if _, after, is := strings.Cut(text, ": "); is {
			said = after
		}
		said = entity.ReplaceAllString(said, "")
		if strings.ContainsAny(said, "#;%\"`<>{}|\\:") || regexp.MustCompile(`(?i)\b(end|style|classdef)\b`).MatchString(entity.ReplaceAllString(said, "")) {
			t.Errorf("it stands as it was said: %q", text)
		}
	}
}
