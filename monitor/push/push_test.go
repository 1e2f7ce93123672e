package push

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestFrameIsOneJSONText(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 2, 20, 21, 0, 0, 123_900_000, time.FixedZone("KST", 9*3600))
	for want, m := range map[string]Message{
		`{"type":"event_log","timestamp":"2026-02-20T12:00:00.123Z"}`: {Type: "event_log"},
		`{"type":"task_update","agentId":"eden","taskId":"t<1>","timestamp":"2026-02-20T12:00:00.123Z","data":{"file":"a&b"}}`: {Type: "task_update",
			AgentID: "eden", TaskID: "t<1>", Data: map[string]string{"file": "a&b"}},
		`{"type":"x","timestamp":"2026-02-20T12:00:00.123Z","data":{ "raw": 1e400 }}`:     {Type: "x", Data: json.RawMessage(`{ "raw": 1e400 }`)},
		"{\"type\":\"x\",\"timestamp\":\"2026-02-20T12:00:00.123Z\",\"data\":\"\uFFFD\"}": {Type: "x", Data: json.RawMessage("\"\xff\"")},
	} {
		text, err := encode(m, now)
		if err != nil || string(text) != want {
			t.Errorf("%s %v, want %s", text, err, want)
		}
	}
	if _, err := encode(Message{Type: "x", Data: math.NaN()}, now); err == nil || !strings.Contains(err.Error(), "data of x") {
		t.Errorf("what is no JSON: %v", err)
	}
}

func TestFarewellFitsIntoItsFrame(t *testing.T) {
	t.Parallel()
	for _, f := range []farewell{tooSlow, restarted, failed} {
		message := f.message(math.MaxInt64)
		var reason struct {
			Code string
			Seq  int64
		}
		if err := json.Unmarshal(message[2:], &reason); err != nil || len(message) > 125 || !utf8.Valid(message[2:]) ||
			reason.Code != string(f) || reason.Seq != math.MaxInt64 {
			t.Errorf("%q: %v", message, err)
		}
	}
}

func TestQueueIsBounded(t *testing.T) {
	t.Parallel()
	var total atomic.Int64
	q := newQueue(3, 100, &total)
	large, small := &frame{size: 1_000}, &frame{size: 10}
	if !q.put(large) {
		t.Error("an empty queue has no room")
	}
	if q.put(small) {
		t.Error("a queue has room beyond its bytes")
	}
	if f, _ := q.take(); f != large || total.Load() != 0 {
		t.Errorf("%+v, %d bytes wait", f, total.Load())
	}
	fits := []bool{q.put(small, small), q.put(small, small), q.put(small), q.put(small)}
	if !slices.Equal(fits, []bool{true, false, true, false}) || total.Load() != 30 {
		t.Errorf("a queue of 3 frames takes %v and holds %d bytes", fits, total.Load())
	}
	q.finish(tooSlow)
	q.finish(failed)
	if f, end := q.take(); f != nil || end != tooSlow || total.Load() != 0 {
		t.Errorf("%v %q %d", f, end, total.Load())
	}
	if !q.put(small) || total.Load() != 0 {
		t.Error("a queue that has ended keeps something")
	}
}

func TestHugeFramesMayTakeLonger(t *testing.T) {
	t.Parallel()
	o := Options{WriteTime: time.Second}
	for bytes, want := range map[int]time.Duration{0: time.Second, 1<<20 - 1: time.Second, 1 << 20: 2 * time.Second, 30 << 20: 31 * time.Second} {
		if got := o.writeTime(bytes); got != want {
			t.Errorf("%d bytes may take %v, want %v", bytes, got, want)
		}
	}
}
