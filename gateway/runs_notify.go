package gateway

import (
	"encoding/json"
	"strings"
	"sync"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/delivery"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/gateway/wire"
)

// eventAgent is the event that broadcasts an agent's activity in a run.
const eventAgent = "agent"

// Limits of updates while an answer grows. Each update repeats all that came before, so sending every token to the end
// would cost the square of the answer's length.
const (
	deltaPause    = 150       // ms, minimum interval of a run's chat deltas
	everyPart     = 4 << 10   // bytes of an answer up to which every part is sent at once
	partOfAnswer  = 32        // beyond that: the fraction of the answer that has to be new
	maxToldAnswer = 256 << 10 // bytes beyond which nothing is sent before the end
)

// silentReply is the answer of an agent that has nothing to say. It is not shown.
const silentReply = "NO_REPLY"

// capToolEvents is the capability of clients that want tool events.
const capToolEvents = "tool-events"

// runNotifier broadcasts run updates, and answers those who wait for the end of a run. It drops a run's state with the run
// and a connection's with the connection.
type runNotifier struct {
	hub *wire.Hub

	mu        sync.Mutex
	following bool
	runs      map[string]*runProgress // active runs
	pending   map[string][]*pendingReply
	waiting   map[string]int // number of waiters per connection
	stops     map[*stopRequest]struct{}
	holds     holdQueue
	listeners *toolListeners
}

// runProgress is how much of a run has been broadcast. Only the run's updates touch it, one at a time.
type runProgress struct {
	seq     int64
	text    string // of the current answer
	sent    int    // bytes of it sent by agent events
	delta   string // text of the newest chat delta
	deltaAt int64  // ms; 0: none yet
}

func newRunNotifier() *runNotifier {
	return &runNotifier{runs: map[string]*runProgress{}, pending: map[string][]*pendingReply{}, waiting: map[string]int{},
		stops: map[*stopRequest]struct{}{}, holds: newHoldQueue(), listeners: newToolListeners()}
}

func (t *runNotifier) follow(runs Runs, hub *wire.Hub) (stop func()) {
	t.mu.Lock()
	t.hub, t.following = hub, true
	t.mu.Unlock()
	leave := runs.Follow(t.receive)
	return func() {
		leave()
		t.mu.Lock()
		defer t.mu.Unlock()
		t.following = false
	}
}

type agentEvent struct {
	RunID      string `json:"runId"`
	Stream     string `json:"stream"` // lifecycle, assistant, tool
	Data       any    `json:"data"`
	SessionKey string `json:"sessionKey"`
	Seq        int64  `json:"seq"` // 1, 2, 3, ... per run, tool events included
	TS         int64  `json:"ts"`
}

type lifecycle struct {
	Phase     string `json:"phase"` // start, end, error
	StartedAt int64  `json:"startedAt,omitempty"`
	Error     string `json:"error,omitempty"`
	EndedAt   int64  `json:"endedAt,omitempty"`
	Aborted   bool   `json:"aborted,omitempty"`
}

type assistantPart struct {
	Text  string `json:"text"` // the answer so far
	Delta string `json:"delta"`
}

type toolPhase struct {
	Phase      string          `json:"phase"` // start, result
	Name       string          `json:"name"`
	ToolCallID string          `json:"toolCallId"`
	Args       json.RawMessage `json:"args,omitempty"`
	IsError    *bool           `json:"isError,omitempty"` // of results
	Result     *toolResult     `json:"result,omitempty"`  // only if the session shows tool output
}

type toolResult struct {
	Content []textBlock `json:"content"`
}

// receive receives updates. It does not block.
func (t *runNotifier) receive(u run.Update) {
	t.mu.Lock()
	waits := t.holds.delays(&u)
	t.mu.Unlock()
	if !waits {
		t.broadcast(&u)
	}
}

// broadcast broadcasts an update. Updates of one run are handled one at a time.
func (t *runNotifier) broadcast(u *run.Update) {
	t.mu.Lock()
	one := t.runs[u.RunID]
	known := one != nil
	if !known {
		one = &runProgress{}
		if u.Kind != run.Ended {
			t.runs[u.RunID] = one
		}
	}
	t.mu.Unlock()
	if u.Internal { // not shown to people, but waiters are answered
		if u.Kind == run.Ended {
			t.over(u)
		}
		return
	}
	switch u.Kind {
	case run.Started, run.Resumed:
		if u.Kind == run.Resumed && known { // clients know of its start
			return
		}
		at := u.At
		if u.Result != nil && u.Result.StartedAt != 0 {
			at = u.Result.StartedAt
		}
		t.broadcastAgent(one, u, "lifecycle", lifecycle{Phase: "start", StartedAt: at})
	case run.Text:
		t.broadcastText(one, u)
	case run.Parked:
		t.broadcastRest(one, u)
	case run.ToolStart, run.ToolResult:
		t.broadcastRest(one, u)
		t.broadcastTool(one, u)
	case run.Ended:
		t.finish(one, u)
	}
}

// finish broadcasts the end of a run, then answers those who wait for it.
func (t *runNotifier) finish(one *runProgress, u *run.Update) {
	t.broadcastRest(one, u)
	if u.Result != nil {
		t.broadcastEnd(one, u, u.Result)
	}
	t.over(u)
}

func (t *runNotifier) over(u *run.Update) {
	if u.Result != nil {
		t.markEnded(u.Result)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.runs, u.RunID)
}

func (t *runNotifier) broadcastAgent(one *runProgress, u *run.Update, stream string, data any) {
	one.seq++
	t.hub.Broadcast(wire.Event{Name: eventAgent, Payload: agentEvent{u.RunID, stream, data, u.SessionKey, one.seq, u.At}})
}

// broadcastText broadcasts the new part of an answer, unless it is too short.
func (t *runNotifier) broadcastText(one *runProgress, u *run.Update) {
	if u.Replaces {
		t.broadcastRest(one, u)
		one.sent = 0
	}
	if one.sent > len(u.Text) {
		one.sent = 0
	}
	one.text = u.Text
	size := len(u.Text)
	if fresh := size - one.sent; fresh == 0 || size > maxToldAnswer || size > everyPart && fresh < size/partOfAnswer {
		return
	}
	t.broadcastRest(one, u)
	t.broadcastDelta(one, u)
}

// broadcastRest broadcasts the unsent rest of the current answer.
func (t *runNotifier) broadcastRest(one *runProgress, u *run.Update) {
	if fresh := one.text[one.sent:]; fresh != "" && len(one.text) <= maxToldAnswer {
		t.broadcastAgent(one, u, "assistant", assistantPart{one.text, fresh})
		one.sent = len(one.text)
	}
}

// broadcastDelta sends chat clients the answer so far, at intervals. Slow clients may miss it: the next delta repeats it.
func (t *runNotifier) broadcastDelta(one *runProgress, u *run.Update) {
	if mayBeSilent(one.text) || one.deltaAt != 0 && u.At-one.deltaAt < deltaPause {
		return
	}
	message, err := saidAt(one.text, u.At)
	if err != nil {
		return
	}
	fresh, grows := strings.CutPrefix(one.text, one.delta)
	t.hub.Broadcast(wire.Event{Name: eventChat, Droppable: true, Payload: chatEvent{RunID: u.RunID, SessionKey: u.SessionKey, Seq: one.seq,
		State: "delta", Message: message, DeltaText: &fresh, Replace: !grows}})
	one.delta, one.deltaAt = one.text, u.At
}

// broadcastTool sends a tool event to its subscribers. It takes no sequence number, so that others see no gap.
func (t *runNotifier) broadcastTool(one *runProgress, u *run.Update) {
	one.seq++
	listeners, all := t.listeners.of(u.SessionKey)
	if len(listeners) == 0 {
		return
	}
	data := toolPhase{Phase: "start", Name: u.ToolName, ToolCallID: u.ToolCallID}
	if u.Kind == run.ToolResult {
		data.Phase, data.IsError = "result", &u.IsError
		if all {
			data.Result = &toolResult{[]textBlock{{"text", cutText(u.Output, maxShownText, cutMark)}}}
		}
	} else if json.Valid(u.Args) {
		data.Args = u.Args
	} else if args, err := encoded(string(u.Args)); err == nil { // the rendering for the model
		data.Args = args
	}
	t.hub.Send(wire.Event{Name: eventAgent, Payload: agentEvent{u.RunID, "tool", data, u.SessionKey, one.seq, u.At}}, listeners...)
}

// broadcastEnd broadcasts that a run is over, and then its answer.
func (t *runNotifier) broadcastEnd(one *runProgress, u *run.Update, r *run.Result) {
	over := r.Over
	if over == nil {
		over = &coordination.RunOver{}
	}
	end := lifecycle{Phase: "end", EndedAt: r.EndedAt}
	said := chatEvent{RunID: u.RunID, SessionKey: u.SessionKey, State: "final"}
	text := over.Text
	switch r.State {
	case run.Failed:
		end.Phase, end.Error = "error", errorText(over)
		said.State, said.ErrorMessage, text = "error", end.Error, ""
	case run.Aborted:
		end.Aborted, end.StartedAt = true, r.StartedAt
		said.State, said.StopReason = "aborted", over.Reason
	case run.TimedOut:
		end.Aborted, end.StartedAt = true, r.StartedAt
		if r.Cause == causeChat {
			said.State, said.StopReason = "aborted", "timeout"
		} else {
			text = ""
		}
	}
	t.broadcastAgent(one, u, "lifecycle", end)
	said.Seq = one.seq
	if text != "" && !isSilent(text) {
		said.Message, _ = saidAt(delivery.ShowMedia(text), u.At) // encoding text cannot fail
	}
	t.hub.Broadcast(wire.Event{Name: eventChat, Payload: said})
}

// saidAt is an agent's answer in the form of chat events.
func saidAt(text string, at int64) (*shownMessage, error) {
	content, err := textContent(text)
	return &shownMessage{Role: authorAssistant, Content: content, Timestamp: at}, err
}

func isSilent(text string) bool { return coordination.TrimJS(text) == silentReply }

// mayBeSilent reports whether the answer so far is, or may become, the silent reply.
func mayBeSilent(text string) bool { return strings.HasPrefix(silentReply, coordination.TrimJS(text)) }

func errorText(over *coordination.RunOver) string {
	if over.Error == "" {
		return "the run has failed, and the log does not say why"
	}
	return over.Error
}
