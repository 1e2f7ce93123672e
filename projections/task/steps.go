package task

import (
	"strconv"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
)

// stepsOf reads what list has written of steps. Every decision on a task does: so what has no escapes in it, which is most, is not read as any
// JSON there may be, which takes twenty times as long.
func stepsOf(text string) []coordination.TaskStep {
	if strings.Contains(text, `\`) {
		return unlist[coordination.TaskStep](text)
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
		return unlist[coordination.TaskStep](text)
	}
	if len(steps) == 0 {
		return nil
	}
	return steps
}

// readStep reads the step that a text begins with, and gives what follows it.
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
