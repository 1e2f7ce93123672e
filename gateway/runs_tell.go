package gateway

import (
	"encoding/json"
	"strings"
	"sync"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/gateway/wire"
)

// eventAgent tells what an agent does in a run.
const eventAgent = "agent"

// Bounds of what is told while an answer grows. Each part of it is told with all that came before, so an answer that is told letter by
// letter to its end would cost the square of its length.
const (
	deltaPause    = 150       // ms, at least, between chat deltas of a run
	everyPart     = 4 << 10   // bytes of an answer up to which each part is told as it comes
	partOfAnswer  = 32        // beyond that: this part of what is there has to be new
	maxToldAnswer = 256 << 10 // bytes, beyond which nothing more is told before the end
)

// silentReply is what an agent says that has nothing to say. It is not shown.
const silentReply = "NO_REPLY"

// capToolEvents is what a client declares that wants to be told of tools.
const capToolEvents = "tool-events"

// teller tells everybody what happens in runs, and those who wait for the end of one that it has come. What it keeps of a run ends with the
// run, and what it keeps of a connection with that.
type teller struct {
	hub *wire.Hub

	mu        sync.Mutex
	following bool
	runs      map[string]*telling // that have begun
	awaited   map[string][]*awaited
	waiting   map[string]int // how many of them are of a connection
	stops     map[*stopping]struct{}
	holds     holds
	listeners *toolListeners
}

// telling is how far a run has been told. Only its updates touch it, which come one after the other.
type telling struct {
	seq     int64
	text    string // of the present answer
	told    int    // bytes of it that agent events have told
	delta   string // what the newest chat delta has told
	deltaAt int64  // ms; 0: there was none
}

func newTeller() *teller {
	return &teller{runs: map[string]*telling{}, awaited: map[string][]*awaited{}, waiting: map[string]int{},
		stops: map[*stopping]struct{}{}, holds: newHolds(), listeners: newToolListeners()}
}

// follow tells what happens from now on, until stop is called.
func (t *teller) follow(runs Runs, hub *wire.Hub) (stop func()) {
	t.mu.Lock()
	t.hub, t.following = hub, true
	t.mu.Unlock()
	leave := runs.Follow(t.hear)
	return func() {
		leave()
		t.mu.Lock()
		defer t.mu.Unlock()
		t.following = false
	}
}

// agentEvent is the payload of agent events.
type agentEvent struct {
	RunID      string `json:"runId"`
	Stream     string `json:"stream"` // lifecycle, assistant, tool
	Data       any    `json:"data"`
	SessionKey string `json:"sessionKey"`
	Seq        int64  `json:"seq"` // 1, 2, 3, ... in the run, tool events included
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
	Text  string `json:"text"` // all of it so far
	Delta string `json:"delta"`
}

type toolPhase struct {
	Phase      string          `json:"phase"` // start, result
	Name       string          `json:"name"`
	ToolCallID string          `json:"toolCallId"`
	Args       json.RawMessage `json:"args,omitempty"`
	IsError    *bool           `json:"isError,omitempty"` // of results
	Result     *toolResult     `json:"result,omitempty"`  // only where the session shows all
}

type toolResult struct {
	Content []textBlock `json:"content"`
}

// hear is told of updates. It does not wait.
func (t *teller) hear(u run.Update) {
	t.mu.Lock()
	waits := t.holds.waits(&u)
	t.mu.Unlock()
	if !waits {
		t.tell(&u)
	}
}

// tell tells an update. Those of a run are told one after the other.
func (t *teller) tell(u *run.Update) {
	t.mu.Lock()
	one := t.runs[u.RunID]
	if one == nil {
		one = &telling{}
		if u.Kind != run.Ended {
			t.runs[u.RunID] = one
		}
	}
	t.mu.Unlock()
	if u.Internal { // people are not shown it, but who waits for its end is told
		if u.Kind == run.Ended {
			t.over(u)
		}
		return
	}
	switch u.Kind {
	case run.Started:
		at := u.At
		if u.Result != nil && u.Result.StartedAt != 0 {
			at = u.Result.StartedAt
		}
		t.tellAgent(one, u, "lifecycle", lifecycle{Phase: "start", StartedAt: at})
	case run.Text:
		t.tellText(one, u)
	case run.ToolStart, run.ToolResult:
		t.tellRest(one, u)
		t.tellTool(one, u)
	case run.Ended:
		t.tellOver(one, u)
	}
}

// tellOver tells that a run is over to everybody, and then to those who wait for it.
func (t *teller) tellOver(one *telling, u *run.Update) {
	t.tellRest(one, u)
	if u.Result != nil {
		t.tellEnd(one, u, u.Result)
	}
	t.over(u)
}

// over tells those who wait for a run that it is over.
func (t *teller) over(u *run.Update) {
	if u.Result != nil {
		t.ended(u.Result)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.runs, u.RunID)
}

func (t *teller) tellAgent(one *telling, u *run.Update, stream string, data any) {
	one.seq++
	t.hub.Broadcast(wire.Event{Name: eventAgent, Payload: agentEvent{u.RunID, stream, data, u.SessionKey, one.seq, u.At}})
}

// tellText tells what is new of an answer, unless that is too little.
func (t *teller) tellText(one *telling, u *run.Update) {
	if u.Anew {
		t.tellRest(one, u)
		one.told = 0
	}
	if one.told > len(u.Text) {
		one.told = 0
	}
	one.text = u.Text
	size := len(u.Text)
	if fresh := size - one.told; fresh == 0 || size > maxToldAnswer || size > everyPart && fresh < size/partOfAnswer {
		return
	}
	t.tellRest(one, u)
	t.tellDelta(one, u)
}

// tellRest tells what has not been told yet of the present answer.
func (t *teller) tellRest(one *telling, u *run.Update) {
	if fresh := one.text[one.told:]; fresh != "" && len(one.text) <= maxToldAnswer {
		t.tellAgent(one, u, "assistant", assistantPart{one.text, fresh})
		one.told = len(one.text)
	}
}

// tellDelta tells those who show a chat how the answer stands, every now and then. Whoever is slow may miss it: the next one holds it too.
func (t *teller) tellDelta(one *telling, u *run.Update) {
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

// tellTool tells of a tool those who have asked for it. Such an event takes no number: who is not told misses nothing.
func (t *teller) tellTool(one *telling, u *run.Update) {
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
	} else if args, err := encoded(string(u.Args)); err == nil { // what the model has made of it
		data.Args = args
	}
	t.hub.Send(wire.Event{Name: eventAgent, Payload: agentEvent{u.RunID, "tool", data, u.SessionKey, one.seq, u.At}}, listeners...)
}

// tellEnd tells that a run is over, and then what it has said.
func (t *teller) tellEnd(one *telling, u *run.Update, r *run.Result) {
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
	t.tellAgent(one, u, "lifecycle", end)
	said.Seq = one.seq
	if text != "" && !isSilent(text) {
		said.Message, _ = saidAt(text, u.At) // a text always can be encoded
	}
	t.hub.Broadcast(wire.Event{Name: eventChat, Payload: said})
}

// saidAt is what an agent has said, as chat events show it.
func saidAt(text string, at int64) (*shownMessage, error) {
	content, err := textContent(text)
	return &shownMessage{Role: authorAssistant, Content: content, Timestamp: at}, err
}

// isSilent reports whether an agent has said that it says nothing.
func isSilent(text string) bool { return coordination.TrimJS(text) == silentReply }

// mayBeSilent reports whether what an agent has said so far is nothing, or may become that.
func mayBeSilent(text string) bool { return strings.HasPrefix(silentReply, coordination.TrimJS(text)) }

func errorText(over *coordination.RunOver) string {
	if over.Error == "" {
		return "the run has failed, and the log does not say why"
	}
	return over.Error
}
