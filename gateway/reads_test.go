package gateway_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/gateway/protocol"
	"github.com/pronto-lab/openclawd/internal/budget"
)

// While other reads hold all that reads may hold together, a long history is to be asked for again, and a short one is shown.
func TestHistoriesShareWhatReadsMayHold(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.reads = budget.New(1 << 20)
	b.reopen(t)
	long := strings.Repeat("리뷰 ", 50_000)
	b.say(t, "agent:eden:long", numbered(4, `"author":"user","text":"`+long+`%d"`)...)
	b.say(t, "agent:eden:short", `"author":"user","text":"hi"`)
	others := b.reads.Open()
	others.Keep(8 << 20)
	for method, params := range map[string]string{
		"chat.history":     `{"sessionKey":"agent:eden:long"}`,
		"sessions.preview": `{"keys":["agent:eden:long"]}`,
	} {
		refused := b.refused(t, method, params)
		if refused.Code != protocol.CodeUnavailable || !refused.Retryable || refused.RetryAfter != 1_000 || fmt.Sprint(refused.Details) != "{read_busy}" {
			t.Errorf("%s: %+v, want that it is asked again after a second: read_busy", method, refused)
		}
	}
	if got := want[history](t, b, "chat.history", `{"sessionKey":"agent:eden:short"}`); len(got.Messages) != 1 {
		t.Errorf("%d messages of a short history, want 1", len(got.Messages))
	}
	others.Close()
	if got := want[history](t, b, "chat.history", `{"sessionKey":"agent:eden:long"}`); len(got.Messages) != 4 {
		t.Errorf("%d messages after the others have ended, want 4", len(got.Messages))
	}
	if held := b.reads.Used(); held != 0 {
		t.Errorf("%d bytes are held when all is answered", held)
	}
}
