package inbound

import (
	"context"
	"regexp"

	"github.com/pronto-lab/openclawd/coordination/run"
)

// isStop reports whether a message consists only of a stop word, and mentions.
func isStop(content string) bool {
	return run.IsStop(mentions.ReplaceAllString(content, " "))
}

var mentions = regexp.MustCompile(`<@!?[0-9A-Za-z]+>`)

// stop requests the end of the runs in the handlers' sessions, without waiting for it.
func (m *Service) stop(ctx context.Context, h *intake) {
	for _, key := range h.stopped {
		if _, err := m.o.Stop(ctx, run.Stop{SessionKey: key, Reason: "stop", By: m.o.Channel + ":" + h.message.Author.ID, Unwaited: true}); err != nil {
			m.o.Logger.Error("cannot stop runs", "session", key, "message", h.message.ID, "err", err)
		}
	}
}
