package conversations_test

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/projections/conversations"
	"github.com/pronto-lab/openclawd/projections/projectiontest"
)

// folded is a log with the projections of this package.
type folded struct {
	*sqlite.DB
	base int64 // what times in events are relative to, ms since 1970
}

const base = 1_790_000_000_000

func fold(t *testing.T, base int64, lines ...string) *folded {
	t.Helper()
	db, _ := projectiontest.New(t, sqlite.Options{}, conversations.Routes(coordination.RulesV2), conversations.Definition(coordination.RulesV2))
	f := &folded{db, base}
	f.append(t, lines...)
	return f
}

// append stores events, each written as "<ms> <type> <field>=<value> ...". A value may hold spaces where no field follows; false and
// true are no texts. Unless they say otherwise, events are of work session ws, from main to ruda.
func (f *folded) append(t *testing.T, lines ...string) {
	t.Helper()
	for _, line := range lines {
		if _, err := f.Append(t.Context(), eventstore.StreamAppend{Stream: "log", Events: []eventstore.NewEvent{f.event(t, line)}}); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
	}
}

func (f *folded) event(t *testing.T, line string) eventstore.NewEvent {
	t.Helper()
	words := strings.Fields(line)
	ms, err := strconv.ParseInt(words[0], 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	data := map[string]any{"workSessionId": "ws", "fromAgent": "main", "toAgent": "ruda"}
	if strings.HasPrefix(words[1], "task.") {
		delete(data, "toAgent")
	}
	name := ""
	for _, word := range words[2:] {
		if field, value, ok := strings.Cut(word, "="); ok {
			name = field
			data[name] = value
			if value == "true" {
				data[name] = true
			}
			continue
		}
		data[name] = fmt.Sprint(data[name], " ", word)
	}
	for name, value := range data {
		if value == "" {
			delete(data, name)
		}
	}
	text, err := json.Marshal(data)
	if err != nil {
		t.Fatal(err)
	}
	return eventstore.NewEvent{Type: words[1], AgentID: "main", Data: text}.WithTS(f.base + ms)
}

// session reads the work session ws, or another.
func (f *folded) session(t *testing.T, name string) conversations.Session {
	t.Helper()
	var found []conversations.Session
	err := f.View(t.Context(), func(tx *sql.Tx) error {
		id, ok, err := conversations.ByName(t.Context(), tx, name)
		if err != nil || !ok {
			return fmt.Errorf("work session %s: %v, %w", name, ok, err)
		}
		kinds, err := conversations.SelectKinds(t.Context(), tx, conversations.Scope{Internal: true})
		if err != nil {
			return err
		}
		found, err = conversations.Load(t.Context(), tx, kinds, []int64{id}, 1_000)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found[0]
}

func (f *folded) texts(t *testing.T, query string) (list []string) {
	t.Helper()
	err := f.View(t.Context(), func(tx *sql.Tx) error {
		rows, err := tx.QueryContext(t.Context(), query)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var text string
			if err := rows.Scan(&text); err != nil {
				return err
			}
			list = append(list, text)
		}
		return rows.Err()
	})
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return list
}

const day = 24 * 60 * 60 * 1000

// How a work session stands, by what has happened in it and how long ago the last of that was.
var standings = []struct {
	name    string
	lines   []string
	silence int64 // ms after the latest event; 0: it has only just happened
	status  coordination.Status
	outcome coordination.Outcome
	reason  string
}{
	{"a message is out", []string{"0 a2a.send conversationId=c1"}, 0, "ACTIVE", "waiting", ""},
	{"an answer came", []string{"0 a2a.send conversationId=c1", "1 a2a.response conversationId=c1 message=네"}, 0, "ACTIVE", "active", ""},
	{"the exchange is over", []string{"0 a2a.send conversationId=c1", "1 a2a.response conversationId=c1", "2 a2a.complete conversationId=c1"}, 0, "QUIET", "done", ""},
	{"over for a day", []string{"0 a2a.send conversationId=c1", "2 a2a.complete conversationId=c1"}, day, "QUIET", "done", ""},
	{"over for more than a day", []string{"0 a2a.send conversationId=c1", "2 a2a.complete conversationId=c1"}, day + 1, "ARCHIVED", "done", ""},
	{"no answer for a day", []string{"0 a2a.send conversationId=c1"}, day, "ACTIVE", "waiting", ""},
	{"no answer for more than a day", []string{"0 a2a.send conversationId=c1"}, day + 1, "ARCHIVED", "waiting", ""},
	{"revived", []string{"0 a2a.send conversationId=c1", "2 a2a.complete conversationId=c1", "200000000 a2a.send conversationId=c2"}, 0, "ACTIVE", "waiting", ""},
	{"one of two exchanges is over", []string{"0 a2a.send conversationId=c1", "1 a2a.send conversationId=c2", "2 a2a.complete conversationId=c1"}, 0, "ACTIVE", "waiting", ""},
	{"both are over", []string{"0 a2a.send conversationId=c1", "1 a2a.send conversationId=c2", "2 a2a.complete conversationId=c1", "3 a2a.complete conversationId=c2"}, 0, "QUIET", "done", ""},
	{"something follows the end", []string{"0 a2a.send conversationId=c1", "2 a2a.complete conversationId=c1", "3 a2a.retry conversationId=c1"}, 0, "ACTIVE", "done", ""},
	{"the end arrives first", []string{"2 a2a.complete conversationId=c1", "0 a2a.send conversationId=c1", "1 a2a.response conversationId=c1"}, 0, "QUIET", "done", ""},
	{"of equal times the later arrival counts", []string{"1 a2a.complete conversationId=c1", "1 a2a.send conversationId=c1"}, 0, "ACTIVE", "waiting", ""},

	{"a subagent works", []string{"0 a2a.spawn conversationId=c1", "1 a2a.spawn_result conversationId=c1 status=accepted"}, 0, "ACTIVE", "waiting", ""},
	{"a subagent is done", []string{"0 a2a.spawn conversationId=c1", "1 a2a.spawn_result conversationId=c1 status=accepted", "2 a2a.complete conversationId=c1"}, 0, "QUIET", "done", ""},
	{"a subagent did not start", []string{"0 a2a.spawn conversationId=c1", "1 a2a.spawn_result conversationId=c1 status=error error=자리 없음"}, 0, "QUIET", "blocked", "자리 없음"},
	{"the exchange is over, its subagent works", []string{"0 a2a.send conversationId=c1", "1 a2a.spawn conversationId=c2 parentConversationId=c1", "2 a2a.complete conversationId=c1"}, 0, "ACTIVE", "waiting", ""},

	{"a task is in progress", []string{"0 task.started taskId=t1"}, 0, "ACTIVE", "active", ""},
	{"a task waits for approval", []string{"0 task.started taskId=t1 requiresApproval=true"}, 0, "ACTIVE", "active", ""},
	{"a task is completed", []string{"0 task.started taskId=t1", "1 task.completed taskId=t1"}, 0, "QUIET", "done", ""},
	{"a task is cancelled", []string{"0 task.started taskId=t1", "1 task.cancelled taskId=t1"}, 0, "QUIET", "done", ""},
	{"a task is abandoned", []string{"0 task.started taskId=t1", "1 task.updated taskId=t1 status=abandoned"}, 0, "QUIET", "done", ""},
	{"a task has failed", []string{"0 task.started taskId=t1", "1 task.updated taskId=t1 status=failed"}, 0, "QUIET", "done", ""},
	{"one of two tasks is completed", []string{"0 task.started taskId=t1", "1 task.started taskId=t2", "2 task.completed taskId=t1"}, 0, "ACTIVE", "active", ""},
	{"a task is blocked", []string{"0 task.started taskId=t1", "1 task.blocked taskId=t1 reason=권한이 없음"}, 0, "ACTIVE", "blocked", "권한이 없음"},
	{"a blocked task reports progress", []string{"0 task.blocked taskId=t1 reason=열쇠 없음", "1 task.updated taskId=t1"}, 0, "ACTIVE", "blocked", "열쇠 없음"},
	{"a blocked task goes on", []string{"0 task.blocked taskId=t1 reason=열쇠 없음", "1 task.resumed taskId=t1"}, 0, "ACTIVE", "active", ""},
	{"a task lies in the backlog", []string{"0 a2a.send conversationId=c1", "1 task.backlog_added taskId=t1", "2 a2a.complete conversationId=c1"}, 0, "QUIET", "done", ""},
	{"the exchange is over, its task goes on", []string{"0 task.started taskId=t1", "1 a2a.send conversationId=c1", "2 a2a.complete conversationId=c1"}, 0, "ACTIVE", "active", ""},
	{"the exchange is over, its task is blocked", []string{"0 task.blocked taskId=t1 reason=열쇠 없음", "1 a2a.send conversationId=c1", "2 a2a.complete conversationId=c1"}, 0, "QUIET", "blocked", "열쇠 없음"},
	{"nothing is left to continue", []string{"0 continuation.sent", "1 continuation.complete"}, 0, "QUIET", "done", ""},

	{"not delivered", []string{"0 a2a.send conversationId=c1", "1 a2a.response conversationId=c1 outcome=blocked waitError=gateway timeout", "2 a2a.complete conversationId=c1"}, 0, "QUIET", "blocked", "gateway timeout"},
	{"not delivered, in words", []string{"0 a2a.send conversationId=c1", "1 a2a.response conversationId=c1 message=[outcome] blocked: 대상이 없습니다", "2 a2a.complete conversationId=c1"}, 0, "QUIET", "blocked", "대상이 없습니다"},
	{"not delivered, said at the end", []string{"0 a2a.send conversationId=c1", "2 a2a.complete conversationId=c1 outcome=blocked error=boom"}, 0, "QUIET", "blocked", "boom"},
	{"too busy", []string{"0 a2a.send conversationId=c1", "2 a2a.complete conversationId=c1 concurrencyBlocked=true"}, 0, "QUIET", "blocked", "동시 처리 한도 초과"},
	{"not answered", []string{"0 a2a.send conversationId=c1", "2 a2a.complete conversationId=c1 outcome=no_reply waitStatus=timeout"}, 0, "QUIET", "no_reply", "대기 시간 초과"},
	{"blocked weighs more than unanswered", []string{"0 a2a.send conversationId=c1", "1 a2a.complete conversationId=c1 outcome=blocked error=boom", "2 a2a.complete conversationId=c2 outcome=no_reply waitStatus=timeout"}, 0, "QUIET", "blocked", "boom"},
	{"tried again", []string{"0 a2a.send conversationId=c1", "1 a2a.complete conversationId=c1 outcome=blocked error=boom", "2 a2a.send conversationId=c1"}, 0, "ACTIVE", "waiting", ""},
	{"tried again with success", []string{"0 a2a.send conversationId=c1", "1 a2a.complete conversationId=c1 outcome=blocked error=boom", "2 a2a.send conversationId=c1", "3 a2a.response conversationId=c1 message=됐어요", "4 a2a.complete conversationId=c1"}, 0, "QUIET", "done", ""},
	{"an attempt that failed is made again", []string{"0 a2a.spawn conversationId=c1", "1 a2a.complete conversationId=c1 outcome=failed error=boom", "2 a2a.spawn conversationId=c2", "3 delegation.retrying conversationId=c1"}, 0, "ACTIVE", "waiting", ""},
	{"an attempt that failed is made again with success", []string{"0 a2a.spawn conversationId=c1", "1 a2a.complete conversationId=c1 outcome=failed error=boom", "2 a2a.spawn conversationId=c2", "3 delegation.retrying conversationId=c1", "4 a2a.complete conversationId=c2"}, 0, "QUIET", "done", ""},
	{"the last attempt fails too", []string{"0 a2a.spawn conversationId=c1", "1 a2a.complete conversationId=c1 outcome=failed error=boom", "2 a2a.spawn conversationId=c2", "3 delegation.retrying conversationId=c1", "4 delegation.abandoned", "5 a2a.complete conversationId=c2 outcome=failed error=again"}, 0, "QUIET", "blocked", "again"},
	{"an attempt that failed is given up", []string{"0 a2a.spawn conversationId=c1", "1 delegation.abandoned conversationId=c1", "2 a2a.complete conversationId=c1 outcome=failed error=boom"}, 0, "QUIET", "blocked", "boom"},
	{"an answer is rejected", []string{"0 a2a.spawn conversationId=c1", "1 delegation.rejected conversationId=c1", "2 a2a.complete conversationId=c1"}, 0, "QUIET", "done", ""},
	{"an attempt without an answer is made again", []string{"0 a2a.spawn conversationId=c1", "1 a2a.complete conversationId=c1 outcome=no_reply", "2 delegation.retrying conversationId=c1", "3 a2a.complete conversationId=c2"}, 0, "QUIET", "done", ""},
	{"an attempt is made again where it failed", []string{"0 a2a.spawn conversationId=c1", "1 a2a.complete conversationId=c1 outcome=failed error=boom", "2 a2a.spawn conversationId=c1", "2 delegation.retrying conversationId=c1"}, 0, "ACTIVE", "waiting", ""},
	{"an attempt fails after it was made again where it failed", []string{"0 a2a.complete conversationId=c1 outcome=failed error=boom", "1 a2a.spawn conversationId=c1", "1 delegation.retrying conversationId=c1", "2 a2a.complete conversationId=c1 outcome=failed error=again"}, 0, "QUIET", "blocked", "again"},
	{"what it is made again for comes late", []string{"5 a2a.complete conversationId=c1 outcome=failed error=boom", "2 delegation.retrying conversationId=c1"}, 0, "QUIET", "blocked", "boom"},
	{"the last trouble is the reason", []string{"0 a2a.complete conversationId=c1 outcome=blocked error=first", "1 a2a.complete conversationId=c2 outcome=blocked error=second", "2 a2a.retry conversationId=c1"}, 0, "ACTIVE", "blocked", "second"},
}

// The API and the view for people who ask SQL are of one mind.
func TestHowASessionStands(t *testing.T) {
	t.Parallel()
	for _, tt := range standings {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			margin := int64(0)
			if tt.silence == day {
				margin = 60_000 // the clock of the view goes on while the test runs
			}
			f := fold(t, time.Now().UnixMilli()-latest(t, tt.lines)-tt.silence+margin, tt.lines...)
			s := f.session(t, "ws")
			if got := s.Status(s.Whole.Last + float64(tt.silence)); got != tt.status {
				t.Errorf("status is %s, want %s", got, tt.status)
			}
			if got := s.Outcome(); got != tt.outcome {
				t.Errorf("outcome is %s, want %s", got, tt.outcome)
			}
			if got := s.Reason(); got != tt.reason {
				t.Errorf("reason is %q, want %q", got, tt.reason)
			}
			want := []string{fmt.Sprintf("%s %s %s", tt.status, tt.outcome, tt.reason)}
			got := f.texts(t, "SELECT status || ' ' || outcome || ' ' || coalesce(reason, '') FROM v_work_sessions")
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("v_work_sessions (-want +got):\n%s", diff)
			}
		})
	}
}

// latest is the highest time among the events.
func latest(t *testing.T, lines []string) (ms int64) {
	t.Helper()
	for _, line := range lines {
		word, _, _ := strings.Cut(line, " ")
		n, err := strconv.ParseInt(word, 10, 64)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		ms = max(ms, n)
	}
	return ms
}

func TestThreadsOfASession(t *testing.T) {
	t.Parallel()
	f := fold(t, base,
		"5 a2a.send conversationId=c1 fromAgent=main toAgent=ruda",
		"3 a2a.send conversationId=c1 fromAgent=ruda toAgent=main", // earlier, so it began the thread
		"6 a2a.spawn conversationId=c2 parentConversationId=c1 toAgent=worker",
		"7 a2a.retry fromAgent=ruda toAgent=main",
		"8 a2a.retry fromAgent=main toAgent=ruda", // the pair has no direction
		"9 task.started taskId=t1",
		"10 gateway.heartbeat fromAgent=unknown toAgent=unknown",
		"300010 gateway.heartbeat fromAgent=unknown toAgent=unknown",
	)
	const query = `SELECT thread || ' ' || from_agent || '>' || to_agent || ' ' || event_count || ' ' || (start_ms - 1790000000000) || '..' ||
 (last_ms - 1790000000000) || ' ' || coalesce(parent_conversation, '-') || ' ' || outcome FROM v_conversations ORDER BY start_ms, thread`
	bucket := int64(base / 300_000)
	want := []string{
		"conv:c1 ruda>main 2 3.0..5.0 - waiting",
		"conv:c2 main>worker 1 6.0..6.0 c1 waiting",
		"pair:main_ruda ruda>main 2 7.0..8.0 - ",
		"pair:main_unknown main>unknown 1 9.0..9.0 - ",
		fmt.Sprintf("event:gateway.heartbeat:%d unknown>unknown 1 10.0..10.0 - ", bucket),
		fmt.Sprintf("event:gateway.heartbeat:%d unknown>unknown 1 300010.0..300010.0 - ", bucket+1),
	}
	if diff := cmp.Diff(want, f.texts(t, query)); diff != "" {
		t.Errorf("threads (-want +got):\n%s", diff)
	}
	s := f.session(t, "ws")
	if s.Whole != (conversations.Extent{Start: base + 3, Last: base + 300_010, Events: 8, Threads: 6}) || s.OpenThreads != 2 || s.OpenTasks != 1 {
		t.Errorf("session has %+v, %d open threads, %d open tasks", s.Whole, s.OpenThreads, s.OpenTasks)
	}
}

func TestTitleOfASession(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		lines []string
		want  string
	}{
		{"nothing to go by", []string{"0 a2a.retry"}, "협업 작업"},
		{"only ids and outcomes", []string{"0 a2a.send label=task_ab12cd message=[outcome] blocked: no"}, "협업 작업"},
		{"the first message", []string{"0 a2a.send message=로그인 오류를 봐 주세요", "1 a2a.send message=다른 이야기"}, "로그인 오류를 봐 주세요"},
		{"the earliest, not the first to arrive", []string{"1 a2a.send message=다른 이야기", "0 a2a.send message=로그인 오류를 봐 주세요"}, "로그인 오류를 봐 주세요"},
		{"a request before an answer", []string{"0 a2a.response message=네 알겠습니다", "1 a2a.send message=로그인 오류를 봐 주세요"}, "로그인 오류를 봐 주세요"},
		{"the goal", []string{"0 a2a.send message=안녕하세요 여러분", "1 a2a.send message=[Goal] 결제를 고친다 [Context] 없음"}, "결제를 고친다"},
		{"the label", []string{"0 a2a.send message=[Goal] 결제를 고친다", "1 a2a.spawn label=fix-payments"}, "fix payments"},
		{"the task", []string{"0 task.started taskId=t1 title=지붕 수리", "1 a2a.spawn label=money", "2 a2a.send message=[Goal] 결제를 고친다"}, "지붕 수리"},
		{"the task, when more was said before", []string{"0 a2a.spawn label=money", "1 task.started taskId=t1 title=지붕 수리"}, "지붕 수리"},
		{"the first of two tasks", []string{"1 task.started taskId=t2 title=페인트칠", "0 task.backlog_added taskId=t1 description=지붕 수리"}, "지붕 수리"},
		{"a task without words", []string{"0 task.started taskId=t1 priority=high", "1 a2a.spawn label=money"}, "money"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := fold(t, base, tt.lines...).session(t, "ws").Title; got != tt.want {
				t.Errorf("title is %q, want %q", got, tt.want)
			}
		})
	}
}

func TestParticipantsOfASession(t *testing.T) {
	t.Parallel()
	f := fold(t, base)
	config := eventstore.NewEvent{Type: "config.applied", Data: json.RawMessage(`{"agents":[{"id":"eden","name":"에덴"}]}`)}
	if _, err := f.Append(t.Context(), eventstore.StreamAppend{Stream: "config", Events: []eventstore.NewEvent{config}}); err != nil {
		t.Fatal(err)
	}
	f.append(t,
		"0 a2a.send fromAgent=main toAgent=stranger",
		"1 a2a.spawn fromAgent=main toAgent=stranger", // now it is known what they are
		"2 a2a.send fromAgent=eden toAgent=main",
		"3 a2a.send fromAgent=main toAgent=",
	)
	want := []conversations.Participant{
		{Agent: "main", Type: coordination.SessionMain}, {Agent: "stranger", Type: coordination.SessionSubagent},
		{Agent: "eden", Name: "에덴", Type: coordination.SessionMain},
	}
	if diff := cmp.Diff(want, f.session(t, "ws").Participants); diff != "" {
		t.Errorf("participants (-want +got):\n%s", diff)
	}

	var crowd []string
	for i := range 80 {
		crowd = append(crowd, fmt.Sprintf("%d a2a.send fromAgent=a%d toAgent=", i, i))
	}
	if got := len(fold(t, base, crowd...).session(t, "ws").Participants); got != 64 {
		t.Errorf("a crowd of 80 has %d participants, want the first 64", got)
	}
}

func TestCategoryIsVotedOn(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		lines []string
		want  coordination.Category
	}{
		{"no text", []string{"0 a2a.send"}, coordination.EngineeringBuild},
		{"no text of tasks", []string{"0 task.started taskId=t1", "1 a2a.send"}, coordination.PlanningDecision},
		{"one vote", []string{"0 a2a.send", "1 a2a.send message=서버를 배포해 주세요"}, coordination.InfraOps},
		{"the majority", []string{"0 a2a.send message=계약서를 법무 검토해 주세요", "1 a2a.send message=서버를 배포해 주세요", "2 a2a.send message=서버를 배포해 주세요"}, coordination.InfraOps},
		{"the first of equals", []string{"0 a2a.send collabCategory=docs_knowledge", "1 a2a.send collabCategory=infra_ops"}, coordination.DocsKnowledge},
		{"the producer's word weighs most", []string{"0 a2a.send message=서버를 배포해 주세요", "1 a2a.send collabCategory=docs_knowledge"}, coordination.DocsKnowledge},
		{"talk weighs more than tasks", []string{"0 task.updated taskId=t1 message=서버를 배포해 주세요", "1 task.updated taskId=t1 message=서버를 배포해 주세요", "2 a2a.send message=계약서를 법무 검토해 주세요"}, coordination.LegalCompliance},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := fold(t, base, tt.lines...).session(t, "ws").Category; got != tt.want {
				t.Errorf("category is %s, want %s", got, tt.want)
			}
		})
	}
}

func TestStateOfATask(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		lines []string
		want  string // state, time and reason
	}{
		{"started", []string{"0 task.started taskId=t"}, "in_progress 0.0 "},
		{"waits for approval", []string{"0 task.started taskId=t requiresApproval=true"}, "pending_approval 0.0 "},
		{"approved", []string{"0 task.started taskId=t requiresApproval=true", "1 task.approved taskId=t"}, "in_progress 1.0 "},
		{"first heard of by its progress", []string{"3 task.updated taskId=t"}, "in_progress 3.0 "},
		{"progress on a blocked one", []string{"0 task.blocked taskId=t reason=열쇠 없음", "1 task.updated taskId=t"}, "blocked 0.0 열쇠 없음"},
		{"unblocked", []string{"0 task.blocked taskId=t reason=열쇠 없음", "1 task.resumed taskId=t"}, "in_progress 1.0 "},
		{"says its state", []string{"0 task.started taskId=t", "1 task.updated taskId=t status=backlog"}, "backlog 1.0 "},
		{"completed, and says how", []string{"0 task.started taskId=t", "1 task.completed taskId=t status=failed"}, "failed 1.0 "},
		{"taken away", []string{"0 task.started taskId=t", "1 zombie.abandoned taskId=t"}, "backlog 1.0 "},
		{"escalated", []string{"0 task.started taskId=t", "1 zombie.abandoned taskId=t action=escalated"}, "interrupted 1.0 "},
		{"out of order", []string{"5 task.completed taskId=t", "2 task.started taskId=t"}, "completed 5.0 "},
		{"at the same time", []string{"5 task.started taskId=t", "5 task.completed taskId=t"}, "completed 5.0 "},
		{"named by what is about something else", []string{"0 task.started taskId=t", "1 a2a.send taskId=t status=completed"}, "in_progress 0.0 "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := fold(t, base, tt.lines...)
			got := f.texts(t, "SELECT state || ' ' || (since_ms - 1790000000000) || ' ' || reason FROM v_tasks")
			if diff := cmp.Diff([]string{tt.want}, got); diff != "" {
				t.Errorf("task (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRoutes(t *testing.T) {
	t.Parallel()
	const query = `SELECT route_key || ' ' || conversation || ' ' || last_event_type || ' ' || run || ' ' || (last_ms - 1790000000000) FROM v_routes
 ORDER BY route_key`
	for _, tt := range []struct {
		name  string
		lines []string
		want  []string
	}{
		{"one for both directions", []string{"0 a2a.send conversationId=c1 runId=r1", "1 a2a.response conversationId=c1 fromAgent=ruda toAgent=main"},
			[]string{"ws::main|ruda c1 a2a.response r1 1.0"}},
		{"the newest by time", []string{"5 a2a.send conversationId=c1", "3 a2a.send conversationId=c2"}, []string{"ws::main|ruda c1 a2a.send  5.0"}},
		{"then by arrival", []string{"5 a2a.send conversationId=c1", "5 a2a.send conversationId=c2"}, []string{"ws::main|ruda c2 a2a.send  5.0"}},
		{"one for each session and pair", []string{"0 a2a.send conversationId=c1", "1 a2a.send conversationId=c2 workSessionId=other"},
			[]string{"other::main|ruda c2 a2a.send  1.0", "ws::main|ruda c1 a2a.send  0.0"}},
		{"children stay out", []string{"0 a2a.send conversationId=c1", "1 a2a.send conversationId=c2 parentConversationId=c1",
			"2 a2a.send conversationId=c3 parentConversationId=c1 eventRole=conversation.main"}, []string{"ws::main|ruda c1 a2a.send  0.0"}},
		{"subagents stay out", []string{"0 a2a.send conversationId=c1 toAgent=worker", "1 a2a.spawn conversationId=c2"}, nil},
		{"other types stay out", []string{"0 a2a.auto_route conversationId=c1", "1 a2a.retry conversationId=c1 eventRole=conversation.main"}, nil},
		{"what names not all of it stays out", []string{"0 a2a.send", "1 a2a.send conversationId=c1 toAgent=", "2 a2a.send conversationId=c1 workSessionId="}, nil},
		{"a run belongs to its conversation", []string{"0 a2a.send conversationId=c1 runId=r1", "1 a2a.send conversationId=c2"},
			[]string{"ws::main|ruda c2 a2a.send  1.0"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, fold(t, base, tt.lines...).texts(t, query)); diff != "" {
				t.Errorf("routes (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSessionsFollowEachOther(t *testing.T) {
	t.Parallel()
	f := fold(t, base,
		"0 a2a.send workSessionId=first",
		"1 a2a.send workSessionId=second previousWorkSessionId=second", // not itself
		"2 a2a.send workSessionId=second previousWorkSessionId=first",
		"3 a2a.send workSessionId=second previousWorkSessionId=zeroth", // it is known already
	)
	first, second := f.session(t, "first"), f.session(t, "second")
	if first.Previous != "" || first.Next != "second" || second.Previous != "first" || second.Next != "" {
		t.Errorf("first is between %q and %q, second between %q and %q", first.Previous, first.Next, second.Previous, second.Next)
	}
}

func TestEventsWithoutASessionLeaveNoTrace(t *testing.T) {
	t.Parallel()
	f := fold(t, base, "0 a2a.send workSessionId= conversationId=c1", "1 task.started workSessionId= taskId=t1")
	for _, table := range conversations.Definition(coordination.RulesV2).Tables {
		if got := f.texts(t, "SELECT count(*) FROM "+table); got[0] != "0" {
			t.Errorf("%s has %s rows", table, got[0])
		}
	}
}
