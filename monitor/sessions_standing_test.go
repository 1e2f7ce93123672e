package monitor_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/projections/conversations"
	"github.com/pronto-lab/openclawd/testdata/sample"
)

// sampled serves the log of the sample, at the moment that it shows.
func sampled(t *testing.T) *testBundle {
	t.Helper()
	b := setup(t)
	for _, name := range []string{"coordination-events-2026-02-17T12-00-00-000Z.ndjson", "coordination-events.ndjson"} {
		lines, err := sample.Files.ReadFile("logs/" + name)
		if err != nil {
			t.Fatal(err)
		}
		b.importing(t, strings.TrimSpace(string(lines)))
	}
	b.now.Store(sample.Taken.UnixMilli())
	return b
}

// TestSessionsByStanding: the filters on outcome, agents and open work find just the sessions whose answers say so, with every other
// filter, and count them by category.
func TestSessionsByStanding(t *testing.T) {
	t.Parallel()
	b := sampled(t)
	b.flows(t)
	outcomes := []string{"", "outcome=blocked", "outcome=no_reply", "outcome=waiting", "outcome=active", "outcome=done", "outcome=done&outcome=waiting"}
	agents := []string{"", "agent=eden", "agent=EDEN", "agent=none,seum"}
	found := map[string]int{}
	for _, base := range []string{"", "status=ACTIVE,QUIET", "status=ACTIVE,ARCHIVED&role=conversation.main", "viewCategory=infra_ops,qa_validation"} {
		all := get[sessionPage](t, b, "/api/work-sessions?limit=1000&include=summary&"+base, http.StatusOK)
		for _, outcome := range outcomes {
			for _, agent := range agents {
				for _, open := range []string{"", "open=true", "open=false"} {
					filter := strings.Join(slices.DeleteFunc([]string{outcome, agent, open}, func(s string) bool { return s == "" }), "&")
					want := []string{}
					for i := range all.Sessions {
						if s := &all.Sessions[i]; s.stands(outcome, agent, open) {
							want = append(want, s.ID)
						}
					}
					page := get[sessionPage](t, b, "/api/work-sessions?limit=1000&include=summary&"+base+"&"+filter, http.StatusOK)
					if diff := cmp.Diff(want, page.ids()); diff != "" {
						t.Fatalf("%s with %s (-want +got)\n%s", base, filter, diff)
					}
					if page.TotalMatched != int64(len(want)) || page.TotalSessions != all.TotalSessions {
						t.Errorf("%s with %s: %d matched of %d, want %d of %d", base, filter, page.TotalMatched, page.TotalSessions, len(want), all.TotalSessions)
					}
					found[filter] += len(want)
				}
			}
		}
	}
	for _, filter := range []string{"outcome=blocked", "outcome=waiting", "outcome=active", "outcome=done", "agent=eden", "open=true", "open=false", "outcome=active&agent=eden&open=true"} {
		if found[filter] == 0 {
			t.Errorf("no session has %s, so nothing was tested", filter)
		}
	}
}

// TestSessionsByStandingInPages: with these filters the pages follow one another without a gap.
func TestSessionsByStandingInPages(t *testing.T) {
	t.Parallel()
	b := sampled(t)
	for _, filter := range []string{"outcome=blocked", "outcome=done", "agent=eden", "open=true", "open=false"} {
		all := get[sessionPage](t, b, "/api/work-sessions?limit=1000&include=summary&"+filter, http.StatusOK).ids()
		var paged []string
		cursor := ""
		for {
			page := get[sessionPage](t, b, "/api/work-sessions?limit=2&include=summary&"+filter+cursor, http.StatusOK)
			paged = append(paged, page.ids()...)
			if page.NextCursor == nil {
				break
			}
			cursor = "&cursor=" + *page.NextCursor
		}
		if diff := cmp.Diff(all, paged); diff != "" || len(all) < 3 {
			t.Errorf("%s: %d sessions (-all +paged)\n%s", filter, len(all), diff)
		}
	}
}

func TestSessionsByStandingRefuse(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for query, field := range map[string]string{"outcome=stuck": "outcome", "open=1": "open", "open=true,false": "open",
		"agent=" + strings.Repeat("a,", 101): "agent"} {
		if r := get[refusal](t, b, "/api/work-sessions?"+query, http.StatusBadRequest); r.Code != "invalid_parameter" || r.Field != field || r.Hint == "" {
			t.Errorf("%s: %+v", query, r)
		}
	}
	page := get[map[string]any](t, b, "/api/work-sessions?outcome=done,blocked&agent=eden&open=true", http.StatusOK)
	if got := fmt.Sprint(page["outcome"], page["agent"], page["open"]); got != "[done blocked] [eden] true" {
		t.Errorf("filters as given: %s", got)
	}
}

// stands reports whether a session's own answer satisfies the filters.
func (s *workSession) stands(outcome, agent, open string) bool {
	_, agents, _ := strings.Cut(agent, "=")
	isMember := agent == "" || slices.ContainsFunc(s.Participants, func(p conversations.Participant) bool {
		return slices.Contains(strings.Split(strings.ToLower(agents), ","), strings.ToLower(p.Agent))
	})
	isOpen := s.OpenThreads+s.OpenTasks+s.BlockedTasks+s.OpenFlows+s.OpenRuns > 0
	has := outcome == "" || slices.Contains(strings.FieldsFunc(strings.ReplaceAll(outcome, "outcome=", ""), func(r rune) bool { return r == ',' || r == '&' }), s.Outcome)
	return isMember && has && (open == "" || open == fmt.Sprintf("open=%v", isOpen))
}

func (p sessionPage) ids() []string {
	ids := []string{}
	for i := range p.Sessions {
		ids = append(ids, p.Sessions[i].ID)
	}
	return ids
}
