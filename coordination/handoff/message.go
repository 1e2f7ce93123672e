package handoff

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
)

// Summary is the payload as text for agents.
func (p *Payload) Summary() string {
	var s summary
	switch f := p.fields; p.Type {
	case TaskDelegation:
		s.line("작업 ID", f.text("taskId"))
		s.line("제목", f.text("taskTitle"))
		s.line("설명", f.text("taskDescription"))
		s.lineIf("우선순위", f.text("priority"))
		s.lineIf("기한", f.text("deadline"))
	case StatusReport:
		s.line("작업 ID", f.text("taskId"))
		s.line("상태", f.text("status"))
		s.lineIf("완료 내용", f.text("completedWork"))
		if blockers, _ := f["blockers"].([]any); len(blockers) > 0 {
			s.line("블로커", joined(blockers))
		}
	case Question:
		s.line("질문 ID", f.text("questionId"))
		s.line("질문", f.text("question"))
		s.lineIf("긴급도", f.text("urgency"))
	case Answer:
		s.line("질문 ID", f.text("questionId"))
		s.line("답변", f.text("answer"))
		if confidence, ok := f["confidence"].(json.Number); ok {
			s.line("신뢰도", percentOf(confidence))
		}
	}
	return strings.Join(s, "\n")
}

// summary is a list of lines or multi-line texts.
type summary []string

func (s *summary) line(label, value string) { *s = append(*s, label+": "+value) }

func (s *summary) lineIf(label, value string) {
	if value != "" {
		s.line(label, value)
	}
}

func joined(list []any) string {
	var all []string
	for _, one := range list {
		s, _ := one.(string)
		all = append(all, s)
	}
	return strings.Join(all, ", ")
}

// percentOf rounds as the reference does: half up.
func percentOf(n json.Number) string {
	f, _ := n.Float64() // 0 on underflow, as intended
	hundred := f * 100
	whole := math.Floor(hundred)
	if hundred-whole >= 0.5 {
		whole++
	}
	return strconv.Itoa(int(whole)) + "%"
}

// Message is a message as its target reads it: sender, kind of handoff, summary. p may be nil.
func Message(from, message string, p *Payload) string {
	if p == nil {
		return "[" + from + "]: " + message
	}
	return "[" + from + "] (" + string(p.Type) + "): " + message + "\n\n--- 구조화 페이로드 ---\n" + p.Summary()
}
