package handoff

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// kind is the type of a payload's member.
type kind int

const (
	text   kind = iota
	texts       // a list of strings
	choice      // an enumeration
	number      // from 0 to a bound
)

// rule is the rule for one member. A required member must not be empty.
type rule struct {
	name    string
	kind    kind
	needed  bool
	choices []string
	bound   bound
}

// bound is the maximum of a number.
type bound struct{ most, words string }

var (
	percent = bound{"100", "0~100"}
	whole   = bound{"1", "0.0~1.0"}
)

// rules are the rules for the members of a type, in the seed's order; the first member is the subject.
type rules []rule

func (r rules) subject() string { return r[0].name }

func rulesOf(t Type) (r rules, known bool) {
	switch t {
	case TaskDelegation:
		return rules{
			{name: "taskId", needed: true},
			{name: "taskTitle", needed: true},
			{name: "taskDescription", needed: true},
			{name: "context"},
			{name: "deadline"},
			{name: "priority", kind: choice, choices: []string{"critical", "high", "medium", "low"}},
			{name: "acceptanceCriteria", kind: texts},
		}, true
	case StatusReport:
		return rules{
			{name: "taskId", needed: true},
			{name: "status", needed: true, kind: choice, choices: []string{"in_progress", "completed", "blocked", "failed"}},
			{name: "completedWork"},
			{name: "remainingWork"},
			{name: "blockers", kind: texts},
			{name: "progressPercent", kind: number, bound: percent},
			{name: "artifacts", kind: texts},
		}, true
	case Question:
		return rules{
			{name: "questionId", needed: true},
			{name: "question", needed: true},
			{name: "context"},
			{name: "urgency", kind: choice, choices: []string{"urgent", "normal", "low"}},
			{name: "options", kind: texts},
		}, true
	case Answer:
		return rules{
			{name: "questionId", needed: true},
			{name: "answer", needed: true},
			{name: "confidence", kind: number, bound: whole},
			{name: "references", kind: texts},
		}, true
	}
	return nil, false
}

// check returns a warning for each violated rule.
func (r rules) check(f fields) (warnings []string) {
	for i := range r {
		if w := r[i].check(f); w != "" {
			warnings = append(warnings, w)
		}
	}
	return warnings
}

func (r *rule) check(f fields) string {
	v, given := f[r.name]
	switch {
	case r.needed && isNothing(v):
		return r.name + " 필드가 필요합니다"
	case !given:
		return ""
	}
	switch r.kind {
	case text:
		if _, ok := v.(string); !ok {
			return r.name + " 필드는 문자열이어야 합니다"
		}
	case texts:
		list, ok := v.([]any)
		if !ok || slices.ContainsFunc(list, func(one any) bool { _, ok := one.(string); return !ok }) {
			return r.name + " 필드는 문자열 배열이어야 합니다"
		}
	case choice:
		if s, ok := v.(string); !ok || !slices.Contains(r.choices, s) {
			return fmt.Sprintf("%s는 %s 중 하나여야 합니다", r.name, strings.Join(r.choices, " | "))
		}
	case number:
		n, ok := v.(json.Number)
		if !ok {
			return r.name + " 필드는 숫자여야 합니다"
		}
		if d := decimalOf(n); d.negative || d.compare(decimalOf(json.Number(r.bound.most))) > 0 {
			return fmt.Sprintf("%s는 %s 범위여야 합니다", r.name, r.bound.words)
		}
	}
	return ""
}

// isNothing reports whether the reference treats a member as missing.
func isNothing(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case string:
		return v == ""
	case bool:
		return !v
	case json.Number:
		return decimalOf(v).digits == ""
	}
	return false
}
