package inbound

import (
	"context"
	"regexp"

	"github.com/pronto-lab/openclawd/coordination/run"
)

// isStop reports whether a message is nothing but a word that people say who want an agent to stop, whoever is mentioned with it.
func isStop(content string) bool {
	return run.IsStop(mentions.ReplaceAllString(content, " "))
}

var mentions = regexp.MustCompile(`<@!?\d+>`)

// stop ends the runs in the sessions of who would handle a stop word. What runs is told to, and not waited for.
func (m *Monitor) stop(ctx context.Context, h *hearing) {
	for _, key := range h.stopped {
		if _, err := m.o.Stop(ctx, run.Stop{SessionKey: key, Reason: "stop", By: "discord:" + h.message.Author.ID, Unwaited: true}); err != nil {
			m.o.Logger.Error("runs were not stopped", "session", key, "message", h.message.ID, "err", err)
		}
	}
}
