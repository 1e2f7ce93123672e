package monitor_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"testing"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/monitor"
)

// A message has the one category that it is counted under, and those that it is of beside it.
func TestMessagesHaveSecondaryCategories(t *testing.T) {
	t.Parallel()
	const message = "로그인 기능을 구현했고 회귀 테스트로 검증해 주세요"
	line := event("a2a.send", "main", 0, `"toAgent":"ruda","message":"`+message+`","workSessionId":"ws_a","conversationId":"c"`)
	for rules, want := range map[coordination.Rules][]string{coordination.RulesV2: {"engineering_build"}, coordination.RulesV1: {}} {
		b := setup(t, func(o *monitor.Options) { o.Rules = rules })
		b.importing(t, line)
		var page struct {
			Events []struct {
				CollabCategory  string
				CollabSecondary []string
			}
		}
		_, body := b.ask(t, http.MethodGet, "/api/events")
		if err := json.Unmarshal(body, &page); err != nil {
			t.Fatal(err)
		}
		e := page.Events[0]
		if e.CollabCategory != "qa_validation" || e.CollabSecondary == nil || !slices.Equal(e.CollabSecondary, want) {
			t.Errorf("%s: %s beside %v, want %v", rules, e.CollabCategory, e.CollabSecondary, want)
		}
	}
}
