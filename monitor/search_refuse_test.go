package monitor_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

// The original answers so when it has no database or no q; interfaces rely on it.
func TestSearchWithoutWordsOrIndexAnswersEmpty(t *testing.T) {
	t.Parallel()
	with, without := searchable(t), setup(t)
	for _, path := range []string{"/api/events/search", "/api/work-sessions/search"} {
		for _, c := range []struct {
			b     *testBundle
			query string
		}{{with, ""}, {with, "?q="}, {with, "?q=%20&limit=7"}, {without, "?q=x"}, {without, ""}} {
			a := get[map[string]any](t, c.b, path+c.query, http.StatusOK)
			list := a["events"]
			if path != "/api/events/search" {
				list = a["sessions"]
			}
			if text, _ := a["error"].(string); text == "" || a["count"] != 0.0 || a["total"] != 0.0 || len(list.([]any)) != 0 {
				t.Errorf("%s%s: %v", path, c.query, a)
			}
		}
	}
}

func TestSearchRefusesWhatItCannotDo(t *testing.T) {
	t.Parallel()
	b := searchable(t)
	many := strings.Repeat("x,", 101)
	for _, path := range []string{"/api/events/search", "/api/work-sessions/search"} {
		for _, c := range []struct{ query, field string }{
			{"q=" + strings.Repeat("a", 257), "q"},
			{"q=" + strings.Repeat("a+", 17), "q"},
			{"q=-x", "q"},
			{"q=%F0%9F%91%8D", "q"},
			{"q=x&limit=0", "limit"},
			{"q=x&limit=1001", "limit"},
			{"q=x&offset=-1", "offset"},
			{"q=x&offset=99999999999", "offset"},
			{"q=x&sort=oldest", "sort"},
			{"q=x&include=all", "include"},
			{"q=x&since=never", "since"},
			{"q=x&scope=mine", "scope"},
			{"q=x&type=" + many, "type"},
			{"q=x&workSession=" + many, "workSession"},
		} {
			if r := get[refusal](t, b, path+"?"+c.query, http.StatusBadRequest); r.Field != c.field || r.Code != "invalid_parameter" || r.Hint == "" {
				t.Errorf("%s?%.60s: %+v, want a refusal of %s", path, c.query, r, c.field)
			}
		}
	}
}

func TestSessionSearchRefusesUnknownStates(t *testing.T) {
	t.Parallel()
	b := searchable(t)
	for query, field := range map[string]string{"q=x&status=OPEN": "status", "q=x&outcome=lost": "outcome", "q=x&open=1": "open"} {
		if r := get[refusal](t, b, "/api/work-sessions/search?"+query, http.StatusBadRequest); r.Field != field || r.Code != "invalid_parameter" {
			t.Errorf("%s: %+v, want a refusal of %s", query, r, field)
		}
	}
}

// Whatever is asked is looked for as words, or refused: nothing of it reaches SQLite as syntax.
func TestHostileSearchesAreHarmless(t *testing.T) {
	t.Parallel()
	b := searchable(t)
	for _, q := range []string{`"`, `""""`, `배포" OR "x`, `배포*`, `^배포`, `body:배포`, `NEAR(배포 서버)`, `(((((배포`, `배포 AND`, `NOT 배포`, "배포\x00실패", `'; DROP TABLE texts;--`,
		`(a+)+$`, `.*`, `[가-힣]+`, `\u0000`, "\uE001r", strings.Repeat(`"a" `, 16), strings.Repeat("-", 255) + "a", "%", "_", "{}", "\xff\xfe배포", "${x}"} {
		for _, path := range []string{"/api/events/search", "/api/work-sessions/search"} {
			response, body := b.ask(t, http.MethodGet, asking(path, q, ""))
			if response.StatusCode != http.StatusOK && response.StatusCode != http.StatusBadRequest || !json.Valid(body) {
				t.Errorf("%s %q: %d %.200s", path, q, response.StatusCode, body)
			}
		}
	}
	if a := get[foundPage](t, b, asking("/api/events/search", "배포", ""), http.StatusOK); a.Total != 4 {
		t.Errorf("afterwards %d events are found, want 4", a.Total)
	}
}
