package main

import (
	"bufio"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
)

// corpus makes events like those of a team of agents: work sessions of a dozen events, conversations of a few turns in Korean and English,
// a task around most of them, a sub-agent now and then. The same seed gives the same events.
type corpus struct {
	r       *rand.Rand
	now     int64 // ms
	topic   []string
	pending []line
}

// line is one event before it has a place in a log.
type line struct {
	typ, agent string
	ts         int64
	data       string
}

const dataBytes = 700

var agents = []string{"ruda", "eden", "seum", "yunseul", "miri", "onsae", "ieum", "dajim", "nuri", "hangyeol", "grim"}

// topics of work sessions; a session keeps to one, as in real teams.
var topics = [][]string{
	{"결제 모듈 구현을 마쳤습니다. 리뷰 부탁드립니다.", "Refactor of the session store is in the branch.", "버그 두 개를 고치고 빌드를 다시 돌렸습니다."},
	{"배포 파이프라인이 멈췄어요. 서버 로그를 확인해 주세요.", "The rollout finished without an incident.", "인프라 알림 기준을 낮췄습니다."},
	{"회귀 테스트 열두 건 가운데 열한 건이 통과했습니다.", "Please verify the search API before the release.", "검증 시나리오를 하나 더 넣었습니다."},
	{"이번 주 우선순위를 다시 정합시다.", "설계안 두 가지를 비교해서 결정하겠습니다.", "The scope decision is due on Friday."},
	{"원인 분석 결과를 표로 정리했습니다.", "Benchmark numbers attached; the second option is faster.", "경쟁 제품 조사 1차본입니다."},
	{"Draft of the guide is in the wiki, comments welcome.", "문서에 사용법을 추가했습니다.", "변경 기록을 남겼어요."},
	{"고객 문의가 늘어서 답변 문구를 바꿨습니다.", "Community feedback is mixed so far.", "문의 답변을 마쳤습니다."},
	{"약관 변경은 법무 검토 뒤에 올리겠습니다.", "계약 조항을 다시 봐야 합니다.", "Compliance asked for a shorter retention."},
}

var smallTalk = []string{"네, 확인했습니다. 곧 답 드릴게요.", "지금 보고 있어요.", "Thanks, looking into it now.", "이어서 진행하겠습니다."}

func newCorpus(seed uint64, startMs int64) *corpus {
	return &corpus{r: rand.New(rand.NewPCG(seed, seed)), now: startMs}
}

// next returns the next event. Sessions of one corpus follow one another; several corpora side by side interleave
// theirs.
func (c *corpus) next() line {
	for len(c.pending) == 0 {
		c.session()
	}
	l := c.pending[0]
	c.pending = c.pending[1:]
	return l
}

func (c *corpus) session() {
	c.topic = topics[c.r.IntN(len(topics))]
	order := c.r.Perm(len(agents))
	lead := agents[order[0]]
	ws := "ws_" + c.uuid()
	task := "task_" + c.uuid()[:20]
	c.add("task.started", lead, fmt.Sprintf(`"taskId":%q,"workSessionId":%q,"eventRole":"orchestration.task","priority":"medium","requiresApproval":false`, task, ws))
	for _, i := range order[1 : 2+c.r.IntN(2)] {
		c.conversation(ws, task, lead, agents[i])
	}
	if c.r.IntN(3) == 0 {
		c.spawn(ws, task, lead)
	}
	c.add("task.updated", lead, fmt.Sprintf(`"taskId":%q,"workSessionId":%q,"eventRole":"orchestration.task","progressCount":3`, task, ws))
	if c.r.IntN(4) > 0 {
		c.add("task.completed", lead, fmt.Sprintf(`"taskId":%q,"workSessionId":%q,"eventRole":"orchestration.task"`, task, ws))
	}
}

func (c *corpus) conversation(ws, task, a, b string) {
	conv, run := c.uuid(), c.uuid()
	context := fmt.Sprintf(`"workSessionId":%q,"taskId":%q,"conversationId":%q,"eventRole":"conversation.main","fromSessionType":"main","toSessionType":"main"`, ws, task, conv)
	c.add("a2a.send", a, fmt.Sprintf(`"fromAgent":%q,"toAgent":%q,"targetSessionKey":"agent:%s:main","runId":%q,%s`, a, b, b, run, context))
	for turn := range 1 + c.r.IntN(4) {
		from, to := b, a
		if turn%2 == 1 {
			from, to = a, b
		}
		c.add("a2a.response", from, fmt.Sprintf(`"fromAgent":%q,"toAgent":%q,"turn":%d,"maxTurns":5,%s`, from, to, turn, context))
	}
	if c.r.IntN(8) > 0 {
		c.add("a2a.complete", a, fmt.Sprintf(`"fromAgent":%q,"toAgent":%q,"announced":false,"actualTurns":2,%s`, a, b, context))
	}
}

func (c *corpus) spawn(ws, task, a string) {
	conv := c.uuid()
	context := fmt.Sprintf(`"fromAgent":%q,"toAgent":"explorer","targetSessionKey":"agent:explorer:subagent:%s","workSessionId":%q,"taskId":%q,"conversationId":%q,"depth":1,"hop":1`, a, conv, ws, task, conv)
	c.add("a2a.spawn", a, context)
	c.add("a2a.spawn_result", a, `"status":"accepted",`+context)
	c.add("a2a.complete", "explorer", `"announced":true,`+context)
}

// add pads the event's message so that data has dataBytes.
func (c *corpus) add(typ, agent, fields string) {
	c.now += 200 + c.r.Int64N(3_000)
	var b strings.Builder
	b.WriteString("{" + fields + `,"message":"`)
	for {
		s := smallTalk[c.r.IntN(len(smallTalk))] + " "
		if c.r.IntN(3) > 0 {
			s = c.topic[c.r.IntN(len(c.topic))] + " "
		}
		if b.Len()+len(s)+2 > dataBytes {
			break
		}
		b.WriteString(s)
	}
	b.WriteString(strings.Repeat(".", max(0, dataBytes-b.Len()-2)))
	b.WriteString(`"}`)
	c.pending = append(c.pending, line{typ, agent, c.now, b.String()})
}

func (c *corpus) uuid() string {
	return fmt.Sprintf("%08x-%04x-4%03x-a%03x-%012x", c.r.Uint32(), c.r.Uint32()&0xffff, c.r.Uint32()&0xfff, c.r.Uint32()&0xfff, c.r.Uint64()&0xffffffffffff)
}

func (l line) ndjson(b []byte) []byte {
	b = append(b, `{"type":"`...)
	b = append(b, l.typ...)
	b = append(b, `","agentId":"`...)
	b = append(b, l.agent...)
	b = append(b, `","ts":`...)
	b = strconv.AppendInt(b, l.ts, 10)
	b = append(b, `,"data":`...)
	b = append(b, l.data...)
	return append(b, '}', '\n')
}

func (l line) append() eventstore.StreamAppend {
	data := []byte(l.data)
	r := coordination.ReadRecord(coordination.RulesV2, l.typ, l.agent, l.ts, l.ts, data, nil)
	return eventstore.StreamAppend{Stream: coordination.StreamOf(&r), Events: []eventstore.NewEvent{
		{Type: l.typ, AgentID: l.agent, TS: l.ts, Data: data, Actor: eventstore.ActorAgent}}}
}

// Sessions of a log interleave as those of a team do: this many are active at a time.
const sideBySide = 24

// sessions writes the events of many sessions side by side.
type sessions struct {
	teams   []*corpus
	written int
}

// newSessions returns sessions whose event n happens about now.
func newSessions(n int, now time.Time) *sessions {
	// A session takes about 25 s of corpus time for 13 events.
	span := int64(n/sideBySide) * 1_700
	s := &sessions{teams: make([]*corpus, sideBySide)}
	for i := range s.teams {
		s.teams[i] = newCorpus(uint64(i)+1, now.UnixMilli()-span)
	}
	return s
}

// write writes the next n events as NDJSON.
func (s *sessions) write(path string, n int) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	out := bufio.NewWriterSize(f, 1<<20)
	var buf []byte
	for range n {
		buf = s.teams[s.written%sideBySide].next().ndjson(buf[:0])
		s.written++
		if _, err := out.Write(buf); err != nil {
			return err
		}
	}
	return errors.Join(out.Flush(), f.Close())
}
