package tasks

import (
	"strconv"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/projections"
)

// stepsOf parses the output of list. It runs for every decision on a task, so JSON without escapes, the usual case, is
// parsed by hand, 20 times faster than by encoding/json.
func stepsOf(text string) []coordination.TaskStep {
	if strings.Contains(text, `\`) {
		return projections.ListOf[coordination.TaskStep](text)
	}
	rest, ok := strings.CutPrefix(text, "[")
	steps := make([]coordination.TaskStep, 0, strings.Count(rest, `{"id":`))
	for ok && rest != "]" {
		var s coordination.TaskStep
		if rest, ok = readStep(strings.TrimPrefix(rest, ","), &s); ok {
			steps = append(steps, s)
		}
	}
	if !ok {
		return projections.ListOf[coordination.TaskStep](text)
	}
	if len(steps) == 0 {
		return nil
	}
	return steps
}

// readStep parses the step at the beginning of a text, and returns the rest.
func readStep(text string, s *coordination.TaskStep) (rest string, ok bool) {
	rest = text
	for _, field := range [...]struct {
		before string
		value  *string
	}{{`{"id":"`, &s.ID}, {`,"content":"`, &s.Content}, {`,"status":"`, &s.Status}} {
		if rest, ok = strings.CutPrefix(rest, field.before); !ok {
			return "", false
		}
		if *field.value, rest, ok = strings.Cut(rest, `"`); !ok {
			return "", false
		}
	}
	if rest, ok = strings.CutPrefix(rest, `,"order":`); !ok {
		return "", false
	}
	digits, rest, ok := strings.Cut(rest, "}")
	if !ok {
		return "", false
	}
	var err error
	s.Order, err = strconv.Atoi(digits)
	return rest, err == nil
}
