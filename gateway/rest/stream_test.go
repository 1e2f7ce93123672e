package rest_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/gateway/rest"
	"github.com/pronto-lab/openclawd/gateway/wire"
	"github.com/pronto-lab/openclawd/internal/testscale"
)

const hiStream = `{"stream":true,"model":"openclaw","messages":[{"role":"user","content":"hi"}]}`

// patience is how long anything here may take before a test gives up.
const patience = testscale.Patience

// stepwise is work that goes on whenever the test says so.
func stepwise(steps <-chan func(j *job)) func(j *job) {
	return func(j *job) {
		for {
			select {
			case step := <-steps:
				step(j)
			case <-j.ctx.Done():
				j.end(run.Aborted, coordination.RunOver{Text: j.text, Reason: "stop"})
				return
			}
			select {
			case <-j.over:
				return
			default:
			}
		}
	}
}

func say(delta string) func(j *job)     { return func(j *job) { j.say(delta, false) } }
func restart(delta string) func(j *job) { return func(j *job) { j.say(delta, true) } }
func ends(text string) func(j *job) {
	return func(j *job) {
		j.end(run.OK, coordination.RunOver{Text: text, StopReason: "stop", Usage: &coordination.SessionUsage{Input: 7, Output: 3, Total: 10}})
	}
}

// A stream sends the role first, then the text as it comes, then the finish reason, and the end mark. Text before a
// tool call is sent too.
func TestChatIsStreamedInOrder(t *testing.T) {
	t.Parallel()
	steps := make(chan func(j *job))
	o := newFakeRuns(stepwise(steps))
	g := serve(t, setup{runs: o})
	e := read(t, g.begin(t.Context(), t, chat, `{"stream_options":{"include_usage":true},`+hiStream[1:]))
	var got []string
	next := func() {
		one, _ := e.next()
		got = append(got, regexp.MustCompile(`chatcmpl_[0-9a-f-]{36}`).ReplaceAllString(one.data, "ID"))
	}
	next() // before anything is said
	for _, step := range []func(j *job){say("I "), say("look"), restart("It is "), say("<20>")} {
		steps <- step
		next()
	}
	steps <- ends("It is <20> degrees")
	for range 4 {
		next()
	}
	if _, more := e.next(); more {
		t.Error("there is more after the mark")
	}
	chunk := func(choices, rest string) string {
		return `{"id":"ID","object":"chat.completion.chunk","created":1771588800,"model":"openclaw","choices":[` + choices + `]` + rest + `}`
	}
	delta := func(delta, finish string) string {
		return chunk(`{"index":0,"delta":{`+delta+`},"finish_reason":`+finish+`}`, "")
	}
	want := []string{delta(`"role":"assistant"`, "null"), delta(`"content":"I "`, "null"), delta(`"content":"look"`, "null"),
		delta(`"content":"\n\nIt is "`, "null"), delta(`"content":"<20>"`, "null"), delta(`"content":" degrees"`, "null"), delta("", `"stop"`),
		chunk("", `,"usage":{"prompt_tokens":7,"completion_tokens":3,"total_tokens":10}`), "[DONE]"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestResponsesAreStreamedInOrder(t *testing.T) {
	t.Parallel()
	steps := make(chan func(j *job))
	g := serve(t, setup{runs: newFakeRuns(stepwise(steps))})
	e := read(t, g.begin(t.Context(), t, responses, `{"model":"openclaw","input":"hi","stream":true}`))
	var names []string
	var last event
	next := func() {
		one, _ := e.next()
		if one.data != "[DONE]" {
			told := decoded[struct {
				Type string
				Seq  *int `json:"sequence_number"`
			}](t, one.data)
			if told.Type != one.name || told.Seq == nil || *told.Seq != len(names) {
				t.Errorf("event %s has %s", one.name, one.data)
			}
			last = one
		}
		names = append(names, one.name)
	}
	for range 4 {
		next()
	}
	for _, delta := range []string{"a", "b"} {
		steps <- say(delta)
		next()
	}
	steps <- ends("abc")
	for range 6 {
		next()
	}
	want := []string{"response.created", "response.in_progress", "response.output_item.added", "response.content_part.added", "response.output_text.delta",
		"response.output_text.delta", "response.output_text.delta", "response.output_text.done", "response.content_part.done", "response.output_item.done",
		"response.completed", ""}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Error(diff)
	}
	if !strings.Contains(last.data, `"status":"completed"`) || !strings.Contains(last.data, `"text":"abc"`) ||
		!strings.Contains(last.data, `"usage":{"input_tokens":7,"output_tokens":3,"total_tokens":10}`) {
		t.Errorf("%s", last.data)
	}
}

// An idle stream sends keep-alives.
func TestStreamsShowThatTheyLive(t *testing.T) {
	t.Parallel()
	steps := make(chan func(j *job))
	g := serve(t, setup{runs: newFakeRuns(stepwise(steps)), change: func(o *rest.Options) { o.Heartbeat = time.Millisecond }})
	e := read(t, g.begin(t.Context(), t, chat, hiStream))
	beats := 0
	for beats < 3 {
		one, ok := e.next()
		if !ok {
			t.Fatal("it has ended")
		}
		if one.comment != "" {
			beats++
		}
	}
	steps <- ends("late")
	if text, _ := streamed(t, e.all()); text != "late" {
		t.Errorf("%q", text)
	}
}

// The run of a client that disconnects is stopped, streaming or not; one that can be resumed goes on.
func TestTheRunOfAClientThatLeavesIsStopped(t *testing.T) {
	t.Parallel()
	for _, body := range []string{hi, hiStream} {
		steps := make(chan func(j *job))
		o := newFakeRuns(stepwise(steps))
		g := serve(t, setup{runs: o})
		ctx, leave := context.WithCancel(t.Context())
		gone := make(chan struct{})
		go func() {
			defer close(gone)
			r, err := http.NewRequestWithContext(ctx, http.MethodPost, g.url+chat, strings.NewReader(body))
			if err != nil {
				t.Error(err)
				return
			}
			r.Header.Set("Authorization", "Bearer "+token)
			if answer, err := client(t).Do(r); err == nil {
				<-ctx.Done()
				_ = answer.Body.Close()
			}
		}()
		steps <- say("half")
		leave()
		select {
		case stop := <-o.stopped:
			if asks := o.asked(); stop.RunID != asks[0].RunID || stop.SessionKey != asks[0].SessionKey || stop.Reason != "stop" {
				t.Errorf("%+v", stop)
			}
		case <-time.After(patience):
			t.Fatal("its run goes on")
		}
		<-gone
	}
}

func TestTheRunOfAClientThatCanComeBackGoesOn(t *testing.T) {
	t.Parallel()
	for _, body := range []string{hi, hiStream} {
		steps := make(chan func(j *job))
		o := newFakeRuns(stepwise(steps))
		g := serve(t, setup{runs: o})
		ctx, leave := context.WithCancel(t.Context())
		left := make(chan struct{})
		go func() {
			defer close(left)
			r, err := http.NewRequestWithContext(ctx, http.MethodPost, g.url+chat, strings.NewReader(body))
			if err != nil {
				t.Error(err)
				return
			}
			r.Header.Set("Authorization", "Bearer "+token)
			r.Header.Set("Idempotency-Key", "k")
			if answer, err := client(t).Do(r); err == nil {
				<-ctx.Done()
				_ = answer.Body.Close()
			}
		}()
		steps <- say("half")
		leave()
		<-left
		steps <- say(" and half")
		again := make(chan string)
		go func() {
			_, answer := g.post(t, chat, hi, "Idempotency-Key", "k")
			again <- answer
		}()
		steps <- ends("half and half")
		if answer := <-again; !strings.Contains(answer, `"content":"half and half"`) || len(o.stopped) != 0 {
			t.Errorf("%s, %d stopped", answer, len(o.stopped))
		}
	}
}

// A gateway shutdown stops no run. Waiting clients are told, in the stream if it has started.
func TestAGatewayThatEndsSaysSo(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{hi: `"code":"stopping"`, hiStream: `"code":"stopping"`} {
		steps := make(chan func(j *job))
		o := newFakeRuns(stepwise(steps))
		g := serve(t, setup{runs: o, wire: func(w *wire.Options) { w.DrainTime = time.Millisecond }})
		answers := make(chan string)
		go func() {
			_, answer := g.post(t, chat, body)
			answers <- answer
		}()
		steps <- say("half")
		g.stop()
		if answer := <-answers; !strings.Contains(answer, want) || strings.Contains(answer, "[DONE]") {
			t.Errorf("%s", answer)
		}
		if len(o.stopped) != 0 {
			t.Error("a run was stopped")
		}
		steps <- ends("half")
	}
}

// A server bounds how long a request is read and an answer written; a stream outlives both.
func TestStreamsOutliveTheTimesOfAServer(t *testing.T) {
	t.Parallel()
	const bound = time.Second // a busy machine needs some of it to read the request
	steps := make(chan func(j *job))
	o := newFakeRuns(stepwise(steps))
	g := serve(t, setup{runs: o, change: func(o *rest.Options) { o.Heartbeat = bound }, server: func(s *http.Server) {
		s.ReadTimeout, s.WriteTimeout = bound, bound
	}})
	e := read(t, g.begin(t.Context(), t, chat, hiStream))
	for beats := 0; beats < 2; {
		one, ok := e.next()
		if !ok {
			t.Fatal("it has ended")
		}
		if one.comment != "" {
			beats++
		}
	}
	steps <- ends("late")
	if text, _ := streamed(t, e.all()); text != "late" || len(o.stopped) != 0 {
		t.Errorf("%q, %d stopped", text, len(o.stopped))
	}
}

// A client that does not read is disconnected and its run stopped, while others get their answers. A slow one gets
// everything, in fewer pieces.
func TestAClientThatDoesNotReadIsCutOff(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("0123456789abcdef", 1<<16) // more than a connection holds on its way
	steps := make(chan func(j *job))
	o := newFakeRuns(stepwise(steps))
	g := serve(t, setup{runs: o, change: func(o *rest.Options) { o.WriteTime = 50 * time.Millisecond }})
	conn, err := net.Dial("tcp", strings.TrimPrefix(g.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if _, err := fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n%s", chat, token, len(hiStream), hiStream); err != nil {
		t.Fatal(err)
	}
	for {
		select {
		case steps <- say(long):
			continue
		case <-o.stopped:
		case <-time.After(patience):
			t.Fatal("it was not stopped")
		}
		break
	}
}

func TestASlowReaderMissesNothing(t *testing.T) {
	t.Parallel()
	const pieces = 2_000
	piece := strings.Repeat("x", 1_000)
	o := newFakeRuns(func(j *job) {
		for i := range pieces {
			j.say(fmt.Sprint(i, piece), i%500 == 499)
		}
		j.end(run.OK, coordination.RunOver{Text: j.text})
	})
	g := serve(t, setup{runs: o})
	answer := g.begin(t.Context(), t, chat, hiStream)
	o.jobs.Wait() // all is said before anything is read
	text, _ := streamed(t, read(t, answer).all())
	var want strings.Builder
	for i := range pieces {
		if i%500 == 499 {
			want.WriteString("\n\n")
		}
		fmt.Fprint(&want, i, piece)
	}
	if text != want.String() {
		t.Errorf("%d bytes of %d", len(text), want.Len())
	}
}

// Text that is masked at the end was already sent: it is not sent again.
func TestMaskedEndsAreNotToldTwice(t *testing.T) {
	t.Parallel()
	o := newFakeRuns(func(j *job) {
		j.say("password=hunter2hunter2", false)
		j.end(run.OK, coordination.RunOver{Text: coordination.Mask(j.text)})
	})
	g := serve(t, setup{runs: o})
	text, _ := streamed(t, read(t, g.begin(t.Context(), t, chat, hiStream)).all())
	if strings.Count(text, "password") != 1 {
		t.Errorf("%q", text)
	}
}

// Many streams at once each get their own answer, from one subscription, which ends with them.
func TestManyStreamsShareOneSubscription(t *testing.T) {
	t.Parallel()
	const streams = 50
	o := newFakeRuns(func(j *job) {
		for i := range 100 {
			j.say(fmt.Sprintf("%s %d, ", j.ask.Message, i), false)
		}
		j.end(run.OK, coordination.RunOver{Text: j.text})
	})
	g := serve(t, setup{runs: o})
	var all sync.WaitGroup
	for n := range streams {
		all.Go(func() {
			body := fmt.Sprintf(`{"stream":true,"messages":[{"role":"user","content":"stream %d"}]}`, n)
			text, finish := streamed(t, read(t, g.begin(t.Context(), t, chat, body)).all())
			var want strings.Builder
			for i := range 100 {
				fmt.Fprintf(&want, "stream %d %d, ", n, i)
			}
			if text != want.String() || finish != "stop" {
				t.Errorf("stream %d: %d bytes, %s", n, len(text), finish)
			}
		})
	}
	all.Wait()
	g.stop()
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.most != 1 || len(o.tells) != 0 {
		t.Errorf("%d subscriptions at once, %d are left", o.most, len(o.tells))
	}
}
