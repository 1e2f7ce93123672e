package a2a

import (
	"cmp"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	decide "github.com/pronto-lab/openclawd/coordination/a2a"
	"github.com/pronto-lab/openclawd/coordination/chain"
	"github.com/pronto-lab/openclawd/coordination/handoff"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/eventstore"
	projection "github.com/pronto-lab/openclawd/projections/a2a"
	"github.com/pronto-lab/openclawd/projections/conversation"
	projected "github.com/pronto-lab/openclawd/projections/run"
	"github.com/pronto-lab/openclawd/projections/session"
	"github.com/pronto-lab/openclawd/tools/access"
)

// Bounds of a request.
const (
	MaxMessage = 256 << 10 // bytes; a run is told the first 64 KiB
	MaxID      = 200       // bytes of each id
	MaxKey     = 512       // bytes of an idempotency key
)

// Send sends a message. What refuses it is told by the result; errors are the log's. Where it waits, the end of ctx ends the waiting alone:
// what was sent goes on.
func (c *Coordinator) Send(ctx context.Context, r Request) (Result, error) {
	asker, err := c.askerOf(ctx, r.From.RunID)
	if err != nil {
		return Result{}, err
	}
	s := c.sending(&r, asker)
	if s.waits() {
		left := c.waits.enter(asker.Lane) // before anything is appended: who wants this run's place then sees that it is free
		defer left()
		s.join()
		defer s.leave()
		defer s.unclaim()
	}
	if _, err := c.o.Log.Decide(ctx, s.decide); err != nil {
		return Result{}, err
	}
	switch {
	case s.refused != nil:
		return s.refusal(), nil
	case s.known == "" && !s.waits():
		return s.accepted(), nil
	case s.known != "" && s.known != s.jobID: // an equal handoff is open
		if err := s.turnTo(ctx, s.known); err != nil {
			return Result{}, err
		}
	}
	if !s.waits() {
		return c.resultOf(ctx, s)
	}
	return c.await(ctx, s)
}

// turnTo has the sender wait for another flow than the one that it wanted to begin, if it waits.
func (s *sending) turnTo(ctx context.Context, jobID string) error {
	if !s.waits() {
		s.jobID = jobID
		return nil
	}
	s.leave()
	s.jobID = jobID
	s.join()
	_, err := s.c.o.Log.Decide(ctx, func(eventstore.Tx) ([]eventstore.StreamAppend, error) { return nil, nil })
	return err
}

// join waits for the flow. Whatever was decided about it before this is on disk once a transaction has ended that begins after this, and what
// is decided later tells.
func (s *sending) join() { s.waiting = s.c.waits.join(s.jobID) }

func (s *sending) leave() {
	if s.waiting != nil {
		s.c.waits.leave(s.jobID, s.waiting)
	}
	s.waiting = nil
}

// claim counts the run that sends as waiting for a session, unless that would close a circle. A message claims it while it is decided: the run that
// is to answer has not begun then, so that whatever that one sends finds who waits for it.
func (s *sending) claim(answers string) {
	s.unclaim()
	if s.waits() && s.r.From.RunID != "" {
		s.left, _ = s.c.waits.between(pair{asks: s.from.String(), answers: answers})
	}
}

func (s *sending) unclaim() {
	if s.left != nil {
		s.left()
	}
	s.left = nil
}

// askerOf is the run that sends, a blank one outside of a run.
func (c *Coordinator) askerOf(ctx context.Context, runID string) (asker run.Result, err error) {
	if runID == "" {
		return asker, nil
	}
	err = c.o.Log.View(ctx, func(tx *sql.Tx) (err error) {
		asker, _, err = projected.ByID(ctx, tx, runID)
		return err
	})
	return asker, err
}

// sending is a message on its way into the log.
type sending struct {
	c    *Coordinator
	r    *Request
	conf *config.Config
	now  time.Time

	jobID           string // the flow's; one that was found instead, once that is known
	newConversation string

	from, target     coordination.SessionKey
	fromAgent, agent string // who sends, and to whom
	payload          *handoff.Payload
	warnings         []string
	intent           decide.Intent
	fingerprint      string
	belongs          belonging
	passing          passing
	invalid          *refusal // what stands against it whatever the log says

	// What the last attempt at deciding has led to.
	refused  *refusal
	known    string // the flow that was asked for before, "" if none was
	warned   []string
	created  coordination.A2AJobCreated
	refusing refusing

	waiting *waiting // nil for who does not wait
	left    func()   // ends the claim to wait; nil without one
	waited  bool     // the sender has, as long as it wanted to
	answers string   // key of the session in which the flow is answered, once it was looked at
}

// sending prepares what is decided, outside of the transaction: messages may be long. asker is the run that sends.
func (c *Coordinator) sending(r *Request, asker run.Result) *sending {
	s := &sending{c: c, r: r, conf: c.o.Config(), now: c.o.Now(), newConversation: c.o.NewID(), target: r.Target}
	s.fingerprint = s.print()
	s.jobID = jobIDOf(r.From, s.key(asker), c.o.NewID())
	var malformed error
	s.from, malformed = coordination.ParseSessionKey(r.From.SessionKey)
	s.fromAgent = strings.ToLower(cmp.Or(r.From.AgentID, s.from.Agent, s.conf.DefaultAgentID()))
	s.agent = strings.ToLower(cmp.Or(r.Target.Agent, s.conf.DefaultAgentID()))
	s.refusing = refusing{from: r.From, fromAgent: s.fromAgent, to: s.agent, target: s.target.String(), fromType: sessionTypeOf(s.from),
		toType: sessionTypeOf(s.target), conversation: r.ConversationID, parent: r.ParentConversationID}
	explicit, task := r.WorkSessionID, r.TaskID
	if s.invalid = s.check(malformed); s.invalid != nil && s.invalid.code == codeInvalid {
		explicit, task = "", ""
		s.refusing.conversation, s.refusing.parent = "", ""
	}
	s.belongs = belonging{from: r.From, agent: s.fromAgent, explicit: explicit, taskID: task, session: s.from.String(), to: s.agent}
	if s.invalid != nil {
		return s
	}
	s.payload, s.warnings = handoff.Parse(r.Payload)
	s.intent = decide.IntentOf(r.Message, s.payload)
	return s
}

// key is what makes a repetition one. In a run it is one if the same call of its model asks for the same, also when a restart has the run begin
// again; some models give the same id to call after call.
func (s *sending) key(asker run.Result) string {
	if s.r.Key == "" || asker.RunID == "" {
		return s.r.Key
	}
	return run.RootOf(asker.RunID, asker.RetryOf) + "/" + s.r.Key + "/" + s.fingerprint
}

// check is what stands against a message, whoever sends it to whom.
func (s *sending) check(malformed error) *refusal {
	r := s.r
	invalid := func(text, mend string) *refusal { return &refusal{statusError, codeInvalid, text, mend} }
	switch {
	case malformed != nil:
		return invalid("who sends it has no session: "+malformed.Error(), "send it from a session, e.g. agent:main:main")
	case coordination.TrimJS(r.Message) == "":
		return invalid("message is missing", "say something")
	case len(r.Message) > MaxMessage:
		return invalid(fmt.Sprintf("message has %d bytes, must have at most %d", len(r.Message), MaxMessage), "shorten it, or put it into a file")
	case !utf8.ValidString(r.Message):
		return invalid("message is no UTF-8", "write it in UTF-8")
	case len(r.Key) > MaxKey:
		return invalid(fmt.Sprintf("idempotencyKey has %d bytes, must have at most %d", len(r.Key), MaxKey), "give a shorter one")
	}
	if why := checkIDs(argument{"taskId", r.TaskID}, argument{"workSessionId", r.WorkSessionID}, argument{"conversationId", r.ConversationID},
		argument{"parentConversationId", r.ParentConversationID}, argument{"topicId", r.TopicID}); why != nil {
		return invalid(why.reason, why.mend)
	}
	return unknownAgent(s.conf, s.agent)
}

// print is the same for messages that ask for the same.
func (s *sending) print() string {
	r := s.r
	asked, err := json.Marshal([]any{s.target.String(), r.Message, r.Payload, r.TaskID, r.WorkSessionID, r.ConversationID, r.ParentConversationID,
		r.TopicID, r.Depth, r.NoTurns, r.NoAnnounce})
	if err != nil {
		return "" // texts and numbers can always be written
	}
	sum := sha256.Sum256(asked)
	return hex.EncodeToString(sum[:])
}

// waits reports whether the sender waits for the answer. The session that it runs in itself answers only after it.
func (s *sending) waits() bool { return s.r.Wait > 0 && (s.r.From.RunID == "" || s.target != s.from) }

func (s *sending) decide(tx eventstore.Tx) ([]eventstore.StreamAppend, error) {
	if was, err := s.askedBefore(tx); was != nil || err != nil {
		return nil, err
	}
	if why := s.against(); why != nil {
		return s.refuse(tx, why)
	}
	ws, task, err := s.c.workSession(tx, &s.belongs)
	if err != nil {
		return nil, err
	}
	return s.send(tx, ws, task, 0)
}

// askedBefore is the flow of an earlier message with the same key, nil if there is none. It begins a decision: nothing is left of the one before.
func (s *sending) askedBefore(tx eventstore.Tx) (*decide.Flow, error) {
	s.refused, s.known, s.warned, s.created = nil, "", s.warnings, coordination.A2AJobCreated{}
	s.unclaim()
	if s.r.Key == "" {
		return nil, nil
	}
	was, found, err := projection.Load(tx, s.jobID)
	if !found || err != nil {
		return nil, err
	}
	s.again(was)
	return was, nil
}

// send begins a flow in a work session, unless something of the log stands against it. begun is how many the transaction has begun there before.
func (s *sending) send(tx eventstore.Tx, ws, task string, begun int) ([]eventstore.StreamAppend, error) {
	if known, err := s.handedOver(tx); known || err != nil {
		return nil, err
	}
	if why, err := s.looping(tx, begun); err != nil {
		return nil, err
	} else if why != nil {
		return s.refuse(tx, why)
	}
	id, err := s.conversation(tx, ws)
	if err != nil {
		return nil, err
	}
	s.create(ws, task, id)
	s.claim(s.created.TargetSessionKey)
	if err := s.announce(tx); err != nil {
		return nil, err
	}
	active, waiting, err := projection.Permits(tx, s.agent)
	if err != nil {
		return nil, err
	}
	return s.begin(tx, active, waiting)
}

// again sees whether the key of a message was said before with the same message.
func (s *sending) again(was *decide.Flow) {
	if !was.Redacted && was.Fingerprint != s.fingerprint {
		s.refused = &refusal{statusError, codeKeyReused, "the idempotency key was given before, with another message", "give another key"}
		return
	}
	s.known = s.jobID
}

// against is what the configuration says against a message, nil for nothing.
func (s *sending) against() *refusal {
	if s.invalid != nil {
		return s.invalid
	}
	if verdict := access.PolicyOf(s.conf.Tools.AgentToAgent).Judge(s.fromAgent, s.agent); !verdict.Allowed {
		return &refusal{statusForbidden, codePolicy, verdict.Why, verdict.Mend}
	}
	return nil
}

// looping says what the chain of causes has against the flow, nil for nothing, and finds where the flow stands in it.
func (s *sending) looping(tx eventstore.Tx, begun int) (*refusal, error) {
	if err := s.passing.place(tx, s.r.From, s.r.Cause, s.r.Hop, s.jobID); err != nil {
		return nil, err
	}
	return s.passing.against(tx, &s.conf.Defaults.LoopGuard, s.fromAgent, s.agent, begun, s.now)
}

func (s *sending) refuse(tx eventstore.Tx, why *refusal) ([]eventstore.StreamAppend, error) {
	s.refused = why
	if chain.IsCode(why.code) {
		s.refusing.root = s.passing.to.Root
	}
	if err := s.c.locate(tx, &s.refusing, &s.belongs); err != nil {
		return nil, err
	}
	return s.refusing.event(why, s.now)
}

// handedOver reports whether an equal handoff is open: then nothing is sent. One that says something else about the same is sent, and the
// sender is warned.
func (s *sending) handedOver(tx eventstore.Tx) (known bool, err error) {
	p := s.payload
	if p == nil || p.Type != handoff.TaskDelegation && p.Type != handoff.Question {
		return false, nil
	}
	open, found, err := projection.OpenHandoff(tx, s.fromAgent, s.agent, p.Type, p.Subject)
	switch {
	case err != nil || !found || s.now.UnixMilli()-open.At >= decide.HandoffOpenMs:
		return false, err
	case open.Hash == p.Hash:
		s.known = open.JobID
		return true, nil
	}
	s.warned = append(s.warned[:len(s.warned):len(s.warned)],
		fmt.Sprintf("%s %s was sent before with other contents (run %s) and is not answered yet", p.Type, p.Subject, open.RunID))
	return false, nil
}

// conversation finds the conversation that a message belongs to: the one that is named, the parent that is named, the one that the two are having
// in the work session, else a new one.
func (s *sending) conversation(tx eventstore.Tx, ws string) (id string, err error) {
	switch {
	case s.r.ConversationID != "":
		return s.r.ConversationID, nil
	case s.r.ParentConversationID != "":
		return s.r.ParentConversationID, nil
	}
	route, found, err := conversation.RouteOf(tx, ws, s.fromAgent, s.agent)
	if found || err != nil {
		return route.ConversationID, err
	}
	return s.newConversation, nil
}

// create says all that the flow needs.
func (s *sending) create(ws, task, id string) {
	r, configured, hop := s.r, s.conf.Session.MaxPingPongTurns, s.passing.to.Hop
	s.created = coordination.A2AJobCreated{
		Context: coordination.Context{WorkSessionID: ws, TaskID: task, ConversationID: id, ParentConversationID: r.ParentConversationID,
			ParentRunID: r.From.RunID, RootRunID: s.passing.to.Root, Depth: r.Depth, Hop: &hop, TopicID: r.TopicID},
		JobID: s.jobID, FromAgent: s.fromAgent, ToAgent: s.agent, RequesterSessionKey: s.from.String(), RequesterRunID: r.From.RunID,
		TargetSessionKey: answerKey(s.target, s.agent, s.fromAgent, id).String(), DisplayKey: s.target.String(), Origin: r.Origin,
		IdempotencyKey: r.Key, Fingerprint: s.fingerprint, Message: r.Message, MessageIntent: s.intent.Name, ConfiguredMaxTurns: configured,
		EffectiveTurns: s.intent.Within(configured, r.NoTurns), MaxFlows: s.c.maxFlows(),
		QueueTimeoutMs: max(s.conf.Defaults.A2A.QueueTimeout, minQueue).Milliseconds(), WaitMs: max(decide.WaitMs, r.Wait.Milliseconds()), NoAnnounce: r.NoAnnounce,
		SourceChannel: r.From.Channel, FromName: nameOf(s.conf, s.fromAgent), ToName: nameOf(s.conf, s.agent),
	}
	if s.created.Depth == nil && r.From.Depth > 0 {
		s.created.Depth = &r.From.Depth
	}
	if p := s.payload; p != nil {
		s.created.PayloadType, s.created.PayloadJSON = string(p.Type), string(p.JSON)
		s.created.PayloadSubject, s.created.PayloadHash = p.Subject, p.Hash
	}
}

// minQueue is the shortest time that a flow waits for a permit.
const minQueue = time.Second

// internalChannel is where somebody looks at a session here: nothing can be posted there.
const internalChannel = "webchat"

// announce says where what came of it is posted, by the target: where the requester was spoken to last, else the session that was asked for, else
// the target.
func (s *sending) announce(tx eventstore.Tx) error {
	channels := s.c.o.Channels
	if s.r.NoAnnounce || channels == nil {
		return nil
	}
	for _, key := range [...]coordination.SessionKey{s.from, s.target, coordination.MainKey(s.agent)} {
		to, err := session.LoadRoute(tx, key)
		if err != nil {
			return err
		}
		if to.Channel != "" && to.Channel != internalChannel && channels.Reaches(to.Channel) {
			s.created.AnnounceChannel, s.created.AnnounceTo = to.Channel, to.To
			s.created.AnnounceThreadID = to.ThreadID
			s.created.AnnounceAccountID = channels.Account(Post{Agent: s.agent, Channel: to.Channel, To: to.To, AccountID: to.AccountID, ThreadID: to.ThreadID})
			return nil
		}
	}
	return nil
}

// begin begins the flow.
func (s *sending) begin(tx eventstore.Tx, active, waiting int) ([]eventstore.StreamAppend, error) {
	step := decide.Begin(s.created, active, waiting, s.warned, s.now.UnixMilli())
	done, err := s.c.performed(tx, &decide.Flow{A2AJobCreated: s.created}, step, s.now)
	if err != nil {
		return nil, err
	}
	if done.refused != nil {
		s.refused = &refusal{statusError, done.refused.code, done.refused.text, done.refused.mend}
	}
	return causedBy(s.r.From.AskedID, done.appends), nil
}
