package run

import (
	"slices"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
)

// IsStop reports whether a message is just a word that asks an agent to stop.
func IsStop(message string) bool {
	words := [...]string{"/stop", "stop", "/abort", "abort", "esc", "wait", "exit", "interrupt", "halt"}
	return slices.Contains(words[:], strings.ToLower(strings.TrimRight(coordination.TrimJS(message), ".!")))
}
