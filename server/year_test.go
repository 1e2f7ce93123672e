//go:build full

package server

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/internal/testscale"
)

// How much happens in the simulated year.
const (
	yearMonths = 12
	monthDays  = 30
	quarter    = 3   // months
	filled     = 2   // quarters after which what is bounded is about full
	mostGrowth = 1.2 // from then to the end of the year
)

// A team lives through a year: people write to agents by clients that come and go, and in Discord, agents work on tasks, ask each other, delegate,
// and are prompted to continue; sessions are reset and deleted, threads are opened, weekends are silent. After a year the server keeps in
// its heap what it did after half a year, but for rows that projections have read or written lately: these are bounded by number, and not
// counted, since it takes longer until there are as many.
func TestHeapIsFlatOverAYear(t *testing.T) {
	t.Parallel()
	l := newLife(t)
	var heaps, goroutines []float64 // by quarter
	for month := 1; month <= yearMonths; month++ {
		for range monthDays {
			l.day()
		}
		l.rest()
		t.Logf("month %d: heap %.1f MB with all rows; %s", month, l.heap()/1e6, l.done())
		if month%quarter == 0 {
			l.empty()
			heaps, goroutines = append(heaps, l.heap()), append(goroutines, l.goroutines())
			t.Logf("month %d: heap %.1f MB, %.0f goroutines", month, heaps[len(heaps)-1]/1e6, goroutines[len(goroutines)-1])
		}
	}
	for name, values := range map[string][]float64{"heap": heaps, "goroutines": goroutines} {
		if early, late := values[filled-1], values[len(values)-1]; late > mostGrowth*early {
			t.Errorf("%s: %.0f after half a year, %.0f after a year, want at most %.1f times as much", name, early, late, mostGrowth)
		}
	}
}

// heap is the size in bytes of what the server's heap holds after a collection.
func (l *life) heap() float64 {
	l.t.Helper()
	const profile = "/debug/pprof/heap?gc=1&debug=1"
	l.reads(profile) // pools are empty after a second collection
	return l.number(profile, `(?m)^# HeapAlloc = (\d+)$`)
}

func (l *life) goroutines() float64 {
	l.t.Helper()
	return l.number("/debug/pprof/goroutine?debug=1", `^goroutine profile: total (\d+)`)
}

// rest waits until no run is open and no post waits.
func (l *life) rest() {
	l.t.Helper()
	late := time.NewTimer(testscale.Patience)
	defer late.Stop()
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	waiting := regexp.MustCompile(`(?m)^openclawd_(runs_open\{.*|work_(waiting|leased)\{pool="discord"\}) [1-9].*$`)
	for {
		open := waiting.FindAllString(l.reads("/metrics"), -1)
		if len(open) == 0 {
			return
		}
		select {
		case <-look.C:
		case <-late.C:
			l.t.Fatalf("no rest: %q", open)
		}
	}
}

// reads asks the API.
func (l *life) reads(path string) string {
	l.t.Helper()
	answer, err := http.Get("http://" + l.server.api + path)
	if err != nil {
		l.t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK && answer.StatusCode != http.StatusServiceUnavailable {
		l.t.Fatalf("%s: %s %.200s %v", path, answer.Status, text, err)
	}
	return string(text)
}

// number is the one that a pattern finds in an answer.
func (l *life) number(path, pattern string) float64 {
	l.t.Helper()
	text := l.reads(path)
	if dir := os.Getenv("OPENCLAWD_YEAR_PROFILES"); dir != "" {
		name := fmt.Sprintf("%d-%s", l.days, strings.NewReplacer("/", "_", "?", "_").Replace(path))
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			l.t.Fatal(err)
		}
	}
	found := regexp.MustCompile(pattern).FindStringSubmatch(text)
	if found == nil {
		l.t.Fatalf("%s: no %s in %.200s", path, pattern, text)
	}
	n, err := strconv.ParseFloat(found[1], 64)
	if err != nil {
		l.t.Fatal(err)
	}
	return n
}
