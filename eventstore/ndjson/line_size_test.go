//go:build !race

// These tests compute or copy much in one goroutine, for which the race detector takes minutes and finds nothing.

package ndjson_test

import (
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/ndjson"
)

// A line may be as large as its event allows, and no larger.
func TestParseLineSize(t *testing.T) {
	t.Parallel()
	const envelope = `{"type":"x","agentId":"a","ts":5,"data":{"m":""}}`
	for size, want := range map[int]ndjson.Reason{
		eventstore.MaxDataBytes - len(`{"m":""}`):     "",
		eventstore.MaxDataBytes - len(`{"m":""}`) + 1: ndjson.TooLong,
		ndjson.MaxLineBytes:                           ndjson.TooLong,
	} {
		line := strings.Replace(envelope, `""`, `"`+strings.Repeat("m", size)+`"`, 1)
		got, rejection := ndjson.ParseLine([]byte(line))
		switch {
		case want == "" && rejection != nil:
			t.Errorf("%d bytes: rejected: %s", size, rejection.Reason)
		case want == "" && got.Event.Check() != nil:
			t.Errorf("%d bytes: a store would refuse it: %v", size, got.Event.Check())
		case want != "" && (rejection == nil || rejection.Reason != want):
			t.Errorf("%d bytes: not rejected as %s", size, want)
		}
	}
}
