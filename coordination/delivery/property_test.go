package delivery_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/collaborate"
	"github.com/pronto-lab/openclawd/coordination/delivery"
)

// remembers is how long the Discord of the test takes a nonce for the same message: a little more than Next relies on.
const remembers = 2 * time.Minute

// world is a Discord, and a worker that carries out a delivery and is killed now and then.
type world struct {
	t   *rapid.T
	d   *delivery.Delivery
	now int64
	log []entry
	p   *delivery.Progress // of the attempt that goes on; nil: none does

	threads []string // that were opened for the delivery
	posted  []int    // which messages stand there, in order
	nonces  map[string]int64
	ids     map[string]string // of messages, by nonce
	dueAt   int64
	blind   bool // a look was refused for good since the last success
	gone    bool // a look was told that the place is no more
	ends    []delivery.Outcome
}

func (w *world) say(typ string, data any) {
	text, err := json.Marshal(data)
	if err != nil {
		w.t.Fatal(err)
	}
	w.log = append(w.log, entry{typ, text, w.now})
}

func (w *world) fold() *delivery.Progress {
	p := &delivery.Progress{}
	for _, e := range w.log {
		if _, err := p.Apply(e.typ, e.data, e.ts); err != nil {
			w.t.Fatal(err)
		}
	}
	return p
}

// begin leases the delivery.
func (w *world) begin() {
	w.now = max(w.now, w.dueAt)
	w.say(coordination.TypeWorkLeased, coordination.WorkAttempt{})
	w.p = w.fold()
}

// killed is the end of the process: what is in the log alone is left.
func (w *world) killed() {
	w.say(coordination.TypeWorkLeaseExpired, coordination.WorkAttempt{Reason: "restart"})
	w.p, w.dueAt = nil, 0
}

func (w *world) place() string { return w.d.Place(w.p.ThreadID) }

// open and post do what is asked for.
func (w *world) open() string {
	id := strconv.Itoa(9000 + len(w.threads))
	w.threads = append(w.threads, id)
	if w.d.Open.Starter {
		w.posted = append(w.posted, 0)
	}
	return id
}

func (w *world) post(i int) (id string) {
	nonce := w.d.Nonce("e", w.place(), i)
	if at, known := w.nonces[nonce]; known && w.now-at <= remembers.Milliseconds() {
		return w.ids[nonce]
	}
	w.nonces[nonce], w.ids[nonce] = w.now, strconv.Itoa(100+len(w.posted))
	w.posted = append(w.posted, i)
	return w.ids[nonce]
}

// Discord answers, or is not heard.
var answers = []string{"done", "done", "done", "done and killed", "killed", "forbidden", "not_found", "unauthorized", "rate_limited", "rejected", "unavailable",
	"unavailable, done", "unsent", "timeout", "timeout, done", "lost", "lost, done", "no_bot"}

func (w *world) do(s delivery.Step) {
	answer := rapid.SampledFrom(answers).Draw(w.t, string(s.Do))
	w.now += rapid.Int64Range(0, 11_000).Draw(w.t, "ms")
	class, done, _ := parse(answer)
	opens := s.Do == delivery.OpenThread
	var id string
	if done && opens {
		id = w.open()
	} else if done {
		id = w.post(s.Index)
	}
	switch class {
	case "":
		w.stands(opens, id, s.Index)
	case "killed":
		w.killed()
	default:
		step := delivery.StepPost
		if opens {
			step = delivery.StepOpen
		}
		w.fails(step, class)
	}
}

func parse(answer string) (class collaborate.Class, done bool, err error) {
	switch answer {
	case "done":
		return "", true, nil
	case "done and killed":
		return "killed", true, nil
	case "unavailable, done", "timeout, done", "lost, done":
		var first string
		_, err = fmt.Sscanf(answer, "%s", &first)
		return collaborate.Class(first[:len(first)-1]), true, err
	}
	return collaborate.Class(answer), false, nil
}

func (w *world) stands(thread bool, id string, i int) {
	w.blind = false
	if thread {
		w.say(coordination.TypeThreadCreated, coordination.Thread{ThreadID: id})
		w.p.OpenedThread(id, "", w.now)
		if !w.d.Open.Starter {
			return
		}
	}
	w.say(coordination.TypeDiscordSent, coordination.DiscordOutbound{MessageID: id, Index: i})
	w.p.Posted(id, w.now)
}

func (w *world) fails(step string, class collaborate.Class) {
	w.say(coordination.TypeDiscordSendFailed, coordination.DiscordOutbound{Step: step, ErrorClass: string(class)})
	var asked time.Duration
	if class == collaborate.ClassRateLimited {
		asked = rapid.SampledFrom([]time.Duration{0, time.Second, 50 * time.Second, 2 * time.Minute}).Draw(w.t, "retry after")
	}
	w.p.Failed(step == delivery.StepLook, class, asked, "", "", w.now)
}

func (w *world) find(s delivery.Step) {
	answer := rapid.SampledFrom([]string{"seen", "seen", "seen", "seen", "killed", "forbidden", "not_found", "rate_limited", "unavailable", "unsent", "lost", "no_bot"}).
		Draw(w.t, string(s.Do))
	w.now += rapid.Int64Range(0, 11_000).Draw(w.t, "ms")
	opens := s.Do == delivery.FindThread
	switch answer {
	case "killed":
		w.killed()
	case "seen":
		id, found := "", false
		if opens && len(w.threads) > 0 {
			id, found = w.threads[0], true
		} else if !opens {
			nonce := w.d.Nonce("e", w.place(), s.Index)
			id, found = w.ids[nonce]
			if found && w.nonces[nonce] < s.Since {
				w.t.Fatalf("message %d is looked for since %d, it was posted at %d", s.Index, s.Since, w.nonces[nonce])
			}
		}
		if !found {
			w.p.NotFound()
			return
		}
		w.stands(opens, id, s.Index)
	default:
		w.blind, w.gone = true, w.gone || answer == "not_found"
		w.fails(delivery.StepLook, collaborate.Class(answer))
	}
}

// end checks an end against what stands in Discord.
func (w *world) end(o delivery.Outcome) {
	w.ends = append(w.ends, o)
	next := len(w.p.MessageIDs)
	threadless := w.d.Open != nil && !w.p.Opened
	stands := slices.Contains(w.posted, next)
	if threadless {
		stands = len(w.threads) > 0
	}
	switch o.State {
	case delivery.Done:
		if len(w.posted) != len(w.d.Messages) || len(o.MessageIDs) != len(w.d.Messages) {
			w.t.Fatalf("done with %v posted and %v told, want %d", w.posted, o.MessageIDs, len(w.d.Messages))
		}
	case delivery.Failed, delivery.Reroute:
		if stands && !w.gone {
			w.t.Fatalf("%s with %s, but message %d stands there, and it could have been seen", o.State, o.Code, next)
		}
		if (o.State == delivery.Reroute) != o.Forget && o.State == delivery.Reroute {
			w.t.Fatalf("decided again without forgetting the thread: %+v", o)
		}
	case delivery.Unknown:
		if !w.blind {
			w.t.Fatalf("unknown, although no search was refused: %v", o)
		}
	default:
		w.t.Fatalf("the state is %q", o.State)
	}
}

// Whatever Discord answers, and whenever the process dies: no thread is opened and no message is posted twice, messages stand in order, the delivery
// ends, once, and as what it is.
func TestDeliveriesUnderEveryFault(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := &world{t: t, now: begin, nonces: map[string]int64{}, ids: map[string]string{}}
		texts := []string{"a", "b", "c"}[:rapid.IntRange(1, 3).Draw(t, "messages")]
		switch rapid.SampledFrom([]string{"channel", "thread", "open", "forum"}).Draw(t, "place") {
		case "channel":
			w.d = draft(texts...)
		case "thread":
			w.d = draft(texts...)
			w.d.ThreadID, w.d.Route = thread, rapid.SampledFrom([]collaborate.Route{collaborate.RouteReused, collaborate.RouteNamed}).Draw(t, "route")
		case "open":
			w.d = opening(texts...)
		default:
			w.d = opening(texts...)
			w.d.Open.Starter = true
		}
		for n := 0; len(w.ends) == 0; n++ {
			if n > 1000 {
				t.Fatal("it does not end")
			}
			if w.p == nil {
				w.now += rapid.SampledFrom([]int64{0, 0, 1000, 3_600_000}).Draw(t, "later")
				w.begin()
			}
			w.turn()
		}
		if len(w.threads) > 1 {
			t.Errorf("%d threads were opened, want one at most", len(w.threads))
		}
		for i, m := range w.posted {
			if m != i {
				t.Errorf("posted were %v, want each once and in order", w.posted)
				break
			}
		}
	})
}

func (w *world) turn() {
	s := delivery.Next(w.d, w.p, w.now)
	if got := delivery.Next(w.d, w.p, w.now); cmp.Diff(s, got) != "" {
		w.t.Fatalf("asked twice it says %+v and %+v", s, got)
	}
	switch s.Do {
	case delivery.Wait:
		if s.Wait <= 0 || s.Wait > 2*collaborate.LongestWait {
			w.t.Fatalf("a wait of %v", s.Wait)
		}
		w.dueAt = w.now + s.Wait.Milliseconds()
		w.say(coordination.TypeWorkReleased, coordination.WorkAttempt{})
		w.p = nil
	case delivery.End:
		w.end(s.Outcome)
	case delivery.FindThread, delivery.FindOne:
		w.find(s)
	default:
		w.do(s)
	}
}

// The events of a delivery give the same progress as its worker recorded.
func TestFoldSaysWhatWasDone(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := &world{t: t, now: begin, nonces: map[string]int64{}, ids: map[string]string{}, d: opening("a", "b")}
		w.begin()
		for range rapid.IntRange(1, 12).Draw(t, "turns") {
			if w.p == nil {
				w.begin()
			}
			if w.turn(); len(w.ends) > 0 {
				return
			}
			if w.p == nil {
				continue
			}
			folded := w.fold()
			got := []any{folded.Opened, folded.ThreadID, folded.MessageIDs, folded.SentAt, folded.Unsure()}
			want := []any{w.p.Opened, w.p.ThreadID, w.p.MessageIDs, w.p.SentAt, w.p.Unsure()}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("the events say something else (-done +told):\n%s", diff)
			}
		}
	})
}
