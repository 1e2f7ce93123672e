package jsdate_test

import (
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/internal/jsdate"
)

func TestParse(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 23, 3, 4, 5, 0, time.UTC)
	for text, want := range map[string]time.Time{
		"2026-11-23T03:04:05Z":              at,
		"2026-11-23T03:04:05.678Z":          at.Add(678 * time.Millisecond),
		"2026-11-23T12:04:05+09:00":         at,
		"2026-11-23T03:04:05":               at,
		"2026-11-23 03:04:05":               at,
		"2026-11-23 12:04:05 +09:00":        at,
		"Mon, 23 Nov 2026 03:04:05 GMT":     at,
		"Mon Nov 23 2026 12:04:05 GMT+0900": at,
		"2026-11-23 03:04":                  at.Add(-5 * time.Second),
		"2026-11-23":                        time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC),
		"2026-11":                           time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC),
		"2026":                              time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
	} {
		if ms, ok := jsdate.Parse(text); !ok || ms != want.UnixMilli() {
			t.Errorf("%q: got %d, %v, want %d", text, ms, ok, want.UnixMilli())
		}
	}
	for _, text := range []string{"", "soon", "2026-13-01", "1771000000000"} {
		if ms, ok := jsdate.Parse(text); ok {
			t.Errorf("%q: got %d", text, ms)
		}
	}
}
