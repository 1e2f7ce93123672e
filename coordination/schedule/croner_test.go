package schedule_test

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
	_ "time/tzdata" // the zones of the kept answers do not depend on the machine

	"github.com/pronto-lab/openclawd/coordination/schedule"
)

// Expressions are due when croner 11 says so, around the hour changes of three zones. testdata/croner.mjs wrote the answers; make
// cron-oracle checks 100,000 others.
func TestCronerAgrees(t *testing.T) {
	t.Parallel()
	checkAnswers(t, filepath.Join("testdata", "croner.ndjson"))
}

func checkAnswers(t *testing.T, name string) {
	t.Helper()
	file, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	answers, wrong := json.NewDecoder(bufio.NewReader(file)), 0
	n := 0
	for ; ; n++ {
		var a struct {
			Expr, Zone string
			From       int64
			Next       []int64
		}
		if err := answers.Decode(&a); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		zone, err := time.LoadLocation(a.Zone)
		if err != nil {
			t.Fatal(err)
		}
		var got []int64
		x, err := schedule.ParseExpression(a.Expr)
		if err == nil {
			got = []int64{}
			for at := time.UnixMilli(a.From); len(got) < 4; {
				if at = x.Next(at, zone); at.IsZero() {
					break
				}
				got = append(got, at.UnixMilli())
			}
		}
		if slices.Equal(got, a.Next) && (got == nil) == (a.Next == nil) {
			continue
		}
		if wrong++; wrong <= 10 {
			t.Errorf("%q in %s after %s: got %s (%v), croner says %s", a.Expr, a.Zone, time.UnixMilli(a.From).In(zone), times(got, zone), err, times(a.Next, zone))
		}
	}
	t.Logf("%d of %d answers differ", wrong, n)
	if n < 100 {
		t.Errorf("only %d answers", n)
	}
}

func times(list []int64, zone *time.Location) (texts []string) {
	for _, at := range list {
		texts = append(texts, time.UnixMilli(at).In(zone).Format("2006-01-02T15:04:05Z07:00"))
	}
	return texts
}

// time.Time.ZoneBounds says on the last day of a leap year, where the rules of a zone are repeated for ever, that its offset has ended
// with the day before.
func TestLastDayOfLeapYears(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"America/New_York", "Europe/Berlin", "Australia/Lord_Howe", "Asia/Seoul"} {
		zone, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		for year := 2024; year < 2100; year++ {
			noon := time.Date(year, time.December, 31, 12, 0, 0, 0, zone)
			for expr, want := range map[string]time.Time{
				"* * * * *": noon.Add(time.Minute), "0 18 * * *": time.Date(year, time.December, 31, 18, 0, 0, 0, zone),
				"0 9 * * *": time.Date(year+1, time.January, 1, 9, 0, 0, 0, zone), "0 12 31 12 *": time.Date(year+1, time.December, 31, 12, 0, 0, 0, zone),
			} {
				x, err := schedule.ParseExpression(expr)
				if err != nil {
					t.Fatal(err)
				}
				if got := x.Next(noon, zone); !got.Equal(want) {
					t.Fatalf("%q in %s after %v: %v, want %v", expr, name, noon, got, want)
				}
			}
		}
	}
}

// An expression that never matches is found to be so at once, and a rare one is found.
func TestRareExpressions(t *testing.T) {
	t.Parallel()
	zone, err := time.LoadLocation("America/New_York")
	if err != nil {
		t.Fatal(err)
	}
	from := time.Date(2026, 11, 1, 1, 30, 0, 0, zone)
	for text, want := range map[string]string{
		"0 0 30 2 *":        "",
		"30 1 30 2 *":       "",
		"0 0 0 1 1 * 2025":  "",
		"0 12 29 2 +MON":    "2044-02-29T12:00:00-05:00",
		"0 0 0 1 1 * 9999":  "9999-01-01T00:00:00-05:00",
		"15 1 * * *":        "2026-11-02T01:15:00-05:00",
		"0 0 * * 1#5,FRI#L": "2026-11-27T00:00:00-05:00",
	} {
		x, err := schedule.ParseExpression(text)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if at := x.Next(from, zone); !at.IsZero() {
			got = at.In(zone).Format(time.RFC3339)
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}
