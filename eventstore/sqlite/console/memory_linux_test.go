//go:build linux && !race

package console_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/eventstore/sqlite/console"
	"github.com/pronto-lab/openclawd/internal/testscale"
)

const mib = 1 << 20

// memory returns the process's resident memory, and its peak since the last call of forget.
func memory(t *testing.T) (now, most int64) {
	t.Helper()
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	read := func(name string) int64 {
		found := regexp.MustCompile(name + `:\s+(\d+) kB`).FindSubmatch(text)
		if found == nil {
			t.Fatalf("no %s in /proc/self/status", name)
		}
		n, err := strconv.ParseInt(string(found[1]), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return n << 10
	}
	return read("VmRSS"), read("VmHWM")
}

// forget frees unused memory and resets the peak.
func forget(t *testing.T) {
	t.Helper()
	debug.FreeOSMemory()
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil {
		t.Fatal(err)
	}
}

const crossJoin = " FROM events a, events b, events c, events d, events e, events f"

// times repeats a term with commas between.
func times(n int, term string) string { return strings.TrimSuffix(strings.Repeat(term+",", n), ",") }

// A query takes at most 128 MiB of the process's real memory, and frees it. The test runs alone because it measures.
//
// Promise: memory
func TestMemoryOfQuestionsIsBounded(t *testing.T) {
	b := setup(t, console.Limits{Time: 500 * time.Millisecond})
	endless := "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) "
	if _, _, err := b.ask(t, "SELECT json_group_array(data) FROM events"); err != nil { // the code itself is read into memory once
		t.Fatal(err)
	}
	for _, c := range []struct{ statement, want string }{
		{"SELECT json_group_array(a.data)" + crossJoin, "sql_too_large or sql_timeout"},
		{"SELECT json_group_object(a.seq, a.data)" + crossJoin, "sql_too_large or sql_timeout"},
		{"SELECT json_group_array(a.data) OVER (ORDER BY a.seq, b.seq, c.seq)" + crossJoin, "sql_too_large or sql_timeout"},
		{"SELECT group_concat(a.data)" + crossJoin, "sql_too_large or sql_timeout"},
		{"SELECT " + times(400, "hex(zeroblob(1000000))"), "sql_too_large"},
		{"SELECT length(max(" + times(40, "max("+times(49, "hex(zeroblob(999999))")+")") + "))", "sql_too_large"},
		{"SELECT length(max(" + times(40, "max("+times(49, "hex(randomblob(999999))")+")") + "))", "sql_too_large or sql_timeout"},
		{"SELECT " + times(499, "x") + " FROM (SELECT hex(zeroblob(1000000)) AS x LIMIT 1)", "sql_too_large"},
		{"SELECT " + times(40, "printf('%.*c', 2000000, 'x')"), "sql_too_large"},
		{"SELECT " + times(40, "replace(hex(zeroblob(500000)), '0', 'xx')"), "sql_too_large"},
		{endless + "SELECT x, hex(zeroblob(1000000)) AS y FROM n ORDER BY y", "sql_timeout"},
		{"SELECT count(*) FROM events WHERE seq IN (" + times(30_000, "1") + ")", "ok"},
	} {
		forget(t)
		before, _ := memory(t)
		start := time.Now()
		_, err := b.askFor(t, c.statement, c.want)
		took := time.Since(start)
		_, most := memory(t)
		if got := codeOf(err); !slices.Contains(strings.Split(c.want, " or "), got) {
			t.Errorf("%.90s: %s (%v), want %s", c.statement, got, err, c.want)
		}
		if most-before > 128*mib {
			t.Errorf("%.90s took %d MiB, may take 128", c.statement, (most-before)/mib)
		}
		if took > testscale.Patience && strings.Contains(c.want, "sql_timeout") { // a busy machine
			t.Errorf("%.90s took %s, may take 500 ms", c.statement, took)
		}
		forget(t)
		if after, _ := memory(t); after-before > 32*mib {
			t.Errorf("%.90s: %d MiB are still held after it", c.statement, (after-before)/mib)
		}
	}
}

// Any number of concurrent queries take no more than those that are answered at a time.
func TestMemoryOfManyQuestionsIsBounded(t *testing.T) {
	b := setup(t, console.Limits{Time: 500 * time.Millisecond})
	forget(t)
	before, _ := memory(t)
	var all sync.WaitGroup
	for range 40 {
		all.Go(func() {
			var asked answers
			_, err := b.console.Query(context.Background(), console.Question{SQL: "SELECT json_group_array(a.data)" + crossJoin}, &asked)
			if got := codeOf(err); got != "sql_too_large" && got != "sql_timeout" && got != "sql_busy" {
				t.Errorf("%s (%v)", got, err)
			}
		})
	}
	all.Wait()
	if _, most := memory(t); most-before > 2*128*mib {
		t.Errorf("40 questions took %d MiB, two at a time may take 256", (most-before)/mib)
	}
}

// The largest payload that an event may have can be read on the command line, and looked into.
func TestLargestPayloadFitsIn(t *testing.T) {
	b := setup(t, console.Limits{})
	db, err := sqlite.Open(t.Context(), sqlite.Options{Path: b.path, Durability: sqlite.DurabilityRelaxed})
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Repeat("리뷰 ", (eventstore.MaxDataBytes-100)/len("리뷰 "))
	_, err = db.Append(t.Context(), eventstore.StreamAppend{Stream: "x", Events: []eventstore.NewEvent{{Type: "x.y", Data: fmt.Appendf(nil, `{"n":7,"message":%q}`, text)}}})
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	if b.console, err = console.Open(t.Context(), b.path, console.Limits{Value: console.MaxValue, Heap: console.MaxHeap, Bytes: 1 << 30}); err != nil {
		t.Fatal(err)
	}
	for statement, want := range map[string]string{
		"SELECT data FROM events WHERE seq = 41":                                      "",
		"SELECT json_extract(data, '$.n') FROM events WHERE seq = 41":                 "[[7]]",
		"SELECT length(json_extract(data, '$.message')) > 1 FROM events WHERE seq=41": "[[1]]",
		"SELECT octet_length(data) > 1 FROM events ORDER BY data DESC LIMIT 1":        "[[1]]",
	} {
		forget(t)
		before, _ := memory(t)
		a, _, err := b.ask(t, statement)
		if err != nil || want != "" && fmt.Sprint(a.rows) != want {
			t.Errorf("%s: %v, %v", statement, len(a.rows), err)
		}
		if _, most := memory(t); most-before > 128*mib {
			t.Errorf("%s took %d MiB, may take 128", statement, (most-before)/mib)
		}
	}
}
