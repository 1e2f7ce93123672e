package run

import (
	"slices"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
)

// IsStop reports whether a message is just a word that asks an agent to stop. A command may name a bot: /stop@ruda_bot.
func IsStop(message string) bool {
	if command, _, named := strings.Cut(strings.TrimLeft(message, " \n"), "@"); named && strings.HasPrefix(command, "/") && len(strings.Fields(message)) == 1 {
		message = command
	}
	words := [...]string{"/stop", "stop", "/abort", "abort", "esc", "wait", "exit", "interrupt", "halt"}
	return slices.Contains(words[:], strings.ToLower(strings.TrimRight(coordination.TrimJS(message), ".!")))
}
