package messenger

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
	"github.com/pronto-lab/openclawd/coordination/a2a"
	"github.com/pronto-lab/openclawd/coordination/chain"
	"github.com/pronto-lab/openclawd/coordination/handoff"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections/conversations"
	"github.com/pronto-lab/openclawd/projections/flows"
	"github.com/pronto-lab/openclawd/projections/runs"
	"github.com/pronto-lab/openclawd/projections/sessions"
	"github.com/pronto-lab/openclawd/services/access"
)

const (
	MaxMessage = 256 << 10 // bytes; a run gets the first 64 KiB
	MaxID      = 200       // bytes of each id
	MaxKey     = 512       // bytes of an idempotency key
)

// Send sends a message. A refusal is in the result; errors are the log's. The end of ctx only ends the waiting: the sent message
// continues.
func (s *Service) Send(ctx context.Context, r Request) (Result, error) {
	asker, err := s.askerOf(ctx, r.From.RunID)
	if err != nil {
		return Result{}, err
	}
	op := s.newSendOperation(&r, asker)
	if op.waitsForAnswer() {
		left := s.waits.enter(asker.Lane) // before anything is appended, so that a run waiting for this run's place sees that it is free
		defer left()
		op.join()
		defer op.leave()
		defer op.unclaim()
	}
	if _, err := s.o.Log.Decide(ctx, op.decide); err != nil {
		return Result{}, err
	}
	switch {
	case op.refused != nil:
		return op.refusal(), nil
	case op.known == "" && !op.waitsForAnswer():
		return op.accepted(), nil
	case op.known != "" && op.known != op.jobID: // an identical handoff is open
		if err := op.turnTo(ctx, op.known); err != nil {
			return Result{}, err
		}
	}
	if !op.waitsForAnswer() {
		return s.resultOf(ctx, op)
	}
	return s.await(ctx, op)
}

// turnTo makes a waiting sender wait for another flow than the one that it wanted to begin.
func (s *sendOperation) turnTo(ctx context.Context, jobID string) error {
	if !s.waitsForAnswer() {
		s.jobID = jobID
		return nil
	}
	s.leave()
	s.jobID = jobID
	s.join()
	_, err := s.service.o.Log.Decide(ctx, func(eventstore.Tx) ([]eventstore.StreamAppend, error) { return nil, nil })
	return err
}

// join registers the wait for the flow. Earlier decisions are on disk once a transaction that begins after this has ended; later ones
// notify.
func (s *sendOperation) join() { s.waiting = s.service.waits.join(s.jobID) }

func (s *sendOperation) leave() {
	if s.waiting != nil {
		s.service.waits.leave(s.jobID, s.waiting)
	}
	s.waiting = nil
}

// claim registers the sending run as waiting for a session, unless that would close a circle. It is registered during the decision, when
// the answering run has not started, so that whatever that run sends sees who waits for it.
func (s *sendOperation) claim(answers string) {
	s.unclaim()
	if s.waitsForAnswer() && s.r.From.RunID != "" {
		s.left, _ = s.service.waits.between(waitPair{asks: s.from.String(), answers: answers})
	}
}

func (s *sendOperation) unclaim() {
	if s.left != nil {
		s.left()
	}
	s.left = nil
}

// askerOf returns the sending run, a blank one outside of a run.
func (s *Service) askerOf(ctx context.Context, runID string) (asker run.Result, err error) {
	if runID == "" {
		return asker, nil
	}
	err = s.o.Log.View(ctx, func(tx *sql.Tx) (err error) {
		asker, _, err = runs.ByID(ctx, tx, runID)
		return err
	})
	return asker, err
}

// sendOperation is a message that is being appended.
type sendOperation struct {
	service *Service
	r       *Request
	conf    *config.Config
	now     time.Time

	jobID           string // id of the flow, or of the existing one that was found
	newConversation string

	from, target     coordination.SessionKey
	fromAgent, agent string // sender and target
	payload          *handoff.Payload
	warnings         []string
	intent           a2a.Intent
	fingerprint      string
	belongs          workContext
	passing          chainStep
	invalid          *refusal // objection that holds regardless of the log

	// Results of the last attempt at deciding.
	refused  *refusal
	known    string // existing flow of the same request, "" for none
	warned   []string
	created  coordination.A2AJobCreated
	refusing refusalEvent

	waiting *answerWaiter // nil without waiting
	left    func()        // ends the claim to wait; nil without one
	waited  bool          // the sender has waited up to its timeout
	answers string        // key of the answering session, once known
}

// newSendOperation prepares the decision outside of the transaction, since messages may be long. asker is the sending run.
func (s *Service) newSendOperation(r *Request, asker run.Result) *sendOperation {
	op := &sendOperation{service: s, r: r, conf: s.o.Config(), now: s.o.Now(), newConversation: s.o.NewID(), target: r.Target}
	op.fingerprint = op.print()
	op.jobID = jobIDOf(r.From, op.key(asker), s.o.NewID())
	var malformed error
	op.from, malformed = coordination.ParseSessionKey(r.From.SessionKey)
	op.fromAgent = strings.ToLower(cmp.Or(r.From.AgentID, op.from.Agent, op.conf.DefaultAgentID()))
	op.agent = strings.ToLower(cmp.Or(r.Target.Agent, op.conf.DefaultAgentID()))
	op.refusing = refusalEvent{from: r.From, fromAgent: op.fromAgent, to: op.agent, target: op.target.String(), fromType: sessionTypeOf(op.from),
		toType: sessionTypeOf(op.target), conversation: r.ConversationID, parent: r.ParentConversationID}
	explicit, task := r.WorkSessionID, r.TaskID
	if op.invalid = op.check(malformed); op.invalid != nil && op.invalid.code == codeInvalid {
		explicit, task = "", ""
		op.refusing.conversation, op.refusing.parent = "", ""
	}
	op.belongs = workContext{from: r.From, agent: op.fromAgent, explicit: explicit, taskID: task, session: op.from.String(), to: op.agent}
	if op.invalid != nil {
		return op
	}
	op.payload, op.warnings = handoff.Parse(r.Payload)
	op.intent = a2a.IntentOf(r.Message, op.payload)
	return op
}

// key identifies repetitions. In a run it depends on the model's call id and the request, since some models reuse ids, and survives a
// repetition of the run after a restart.
func (s *sendOperation) key(asker run.Result) string {
	if s.r.Key == "" || asker.RunID == "" {
		return s.r.Key
	}
	return run.RootOf(asker.RunID, asker.RetryOf) + "/" + s.r.Key + "/" + s.fingerprint
}

// check returns the objections to a message that depend on nothing else.
func (s *sendOperation) check(malformed error) *refusal {
	r := s.r
	invalid := func(text, hint string) *refusal { return &refusal{StatusError, codeInvalid, text, hint} }
	switch {
	case malformed != nil:
		return invalid("the sender has no session: "+malformed.Error(), "send it from a session, e.g. agent:main:main")
	case coordination.TrimJS(r.Message) == "":
		return invalid("message is missing", "say something")
	case len(r.Message) > MaxMessage:
		return invalid(fmt.Sprintf("message has %d bytes, must have at most %d", len(r.Message), MaxMessage), "shorten it, or put it into a file")
	case !utf8.ValidString(r.Message):
		return invalid("message is not valid UTF-8", "encode it as UTF-8")
	case len(r.Key) > MaxKey:
		return invalid(fmt.Sprintf("idempotencyKey has %d bytes, must have at most %d", len(r.Key), MaxKey), "give a shorter one")
	}
	if why := checkIDs(namedValue{"taskId", r.TaskID}, namedValue{"workSessionId", r.WorkSessionID}, namedValue{"conversationId", r.ConversationID},
		namedValue{"parentConversationId", r.ParentConversationID}, namedValue{"topicId", r.TopicID}); why != nil {
		return invalid(why.reason, why.hint)
	}
	return unknownAgent(s.conf, s.agent)
}

func (s *sendOperation) print() string {
	r := s.r
	asked, err := json.Marshal([]any{s.target.String(), r.Message, r.Payload, r.TaskID, r.WorkSessionID, r.ConversationID, r.ParentConversationID,
		r.TopicID, r.Depth, r.NoTurns, r.NoAnnounce})
	if err != nil {
		return "" // texts and numbers always encode
	}
	sum := sha256.Sum256(asked)
	return hex.EncodeToString(sum[:])
}

// waitsForAnswer reports whether the sender waits for the answer. Its own session cannot answer before the run ends.
func (s *sendOperation) waitsForAnswer() bool {
	return s.r.Wait > 0 && (s.r.From.RunID == "" || s.target != s.from)
}

func (s *sendOperation) decide(tx eventstore.Tx) ([]eventstore.StreamAppend, error) {
	if was, err := s.askedBefore(tx); was != nil || err != nil {
		return nil, err
	}
	if why := s.against(); why != nil {
		return s.refuse(tx, why)
	}
	ws, task, err := s.service.workSession(tx, &s.belongs)
	if err != nil {
		return nil, err
	}
	return s.send(tx, ws, task, 0)
}

// askedBefore returns the flow of an earlier message with the same key, nil for none. It starts a decision by resetting the results of
// the last one.
func (s *sendOperation) askedBefore(tx eventstore.Tx) (*a2a.Flow, error) {
	s.refused, s.known, s.warned, s.created = nil, "", s.warnings, coordination.A2AJobCreated{}
	s.unclaim()
	if s.r.Key == "" {
		return nil, nil
	}
	was, found, err := flows.Load(tx, s.jobID)
	if !found || err != nil {
		return nil, err
	}
	s.checkRepeated(was)
	return was, nil
}

// send begins a flow in a work session, unless the log has an objection. started is the number of flows that the transaction has started
// there before.
func (s *sendOperation) send(tx eventstore.Tx, ws, task string, started int) ([]eventstore.StreamAppend, error) {
	if known, err := s.handedOver(tx); known || err != nil {
		return nil, err
	}
	if why, err := s.looping(tx, started); err != nil {
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
	active, waiting, err := flows.Permits(tx, s.agent)
	if err != nil {
		return nil, err
	}
	return s.begin(tx, active, waiting)
}

// checkRepeated checks whether a repeated key comes with the same message.
func (s *sendOperation) checkRepeated(was *a2a.Flow) {
	if !was.Redacted && was.Fingerprint != s.fingerprint {
		s.refused = &refusal{StatusError, codeKeyReused, "the idempotency key was used before with another message", "give another key"}
		return
	}
	s.known = s.jobID
}

// against returns the configuration's objection to a message, nil for none.
func (s *sendOperation) against() *refusal {
	if s.invalid != nil {
		return s.invalid
	}
	if verdict := access.PolicyOf(s.conf.Tools.AgentToAgent).Judge(s.fromAgent, s.agent); !verdict.Allowed {
		return &refusal{StatusForbidden, codePolicy, verdict.Why, verdict.Hint}
	}
	return nil
}

// looping returns the chain of causes' objection to the flow, nil for none, and sets the flow's position in it.
func (s *sendOperation) looping(tx eventstore.Tx, started int) (*refusal, error) {
	if err := s.passing.locate(tx, s.r.From, s.r.Cause, s.r.Hop, s.jobID); err != nil {
		return nil, err
	}
	return s.passing.against(tx, &s.conf.Defaults.LoopGuard, s.fromAgent, s.agent, started, s.now)
}

func (s *sendOperation) refuse(tx eventstore.Tx, why *refusal) ([]eventstore.StreamAppend, error) {
	s.refused = why
	if chain.IsCode(why.code) {
		s.refusing.root = s.passing.to.Root
	}
	if err := s.service.locate(tx, &s.refusing, &s.belongs); err != nil {
		return nil, err
	}
	return s.refusing.event(why, s.now)
}

// handedOver reports whether an identical handoff is open: then nothing is sent. A handoff about the same subject with other contents is
// sent with a warning.
func (s *sendOperation) handedOver(tx eventstore.Tx) (known bool, err error) {
	p := s.payload
	if p == nil || p.Type != handoff.TaskDelegation && p.Type != handoff.Question {
		return false, nil
	}
	open, found, err := flows.OpenHandoff(tx, s.fromAgent, s.agent, p.Type, p.Subject)
	switch {
	case err != nil || !found || s.now.UnixMilli()-open.At >= a2a.HandoffOpenMs:
		return false, err
	case open.Hash == p.Hash:
		s.known = open.JobID
		return true, nil
	}
	s.warned = append(s.warned[:len(s.warned):len(s.warned)],
		fmt.Sprintf("%s %s was sent before with other contents (run %s) and is not answered yet", p.Type, p.Subject, open.RunID))
	return false, nil
}

// conversation finds the conversation of a message: the named one, the named parent, the current one of the two agents in the work
// session, else a new one.
func (s *sendOperation) conversation(tx eventstore.Tx, ws string) (id string, err error) {
	switch {
	case s.r.ConversationID != "":
		return s.r.ConversationID, nil
	case s.r.ParentConversationID != "":
		return s.r.ParentConversationID, nil
	}
	route, found, err := conversations.RouteOf(tx, ws, s.fromAgent, s.agent)
	if found || err != nil {
		return route.ConversationID, err
	}
	return s.newConversation, nil
}

func (s *sendOperation) create(ws, task, id string) {
	r, configured, hop := s.r, s.conf.Session.MaxPingPongTurns, s.passing.to.Hop
	s.created = coordination.A2AJobCreated{
		Context: coordination.Context{WorkSessionID: ws, TaskID: task, ConversationID: id, ParentConversationID: r.ParentConversationID,
			ParentRunID: r.From.RunID, RootRunID: s.passing.to.Root, Depth: r.Depth, Hop: &hop, TopicID: r.TopicID},
		JobID: s.jobID, FromAgent: s.fromAgent, ToAgent: s.agent, RequesterSessionKey: s.from.String(), RequesterRunID: r.From.RunID,
		TargetSessionKey: answerKey(s.target, s.agent, s.fromAgent, id).String(), DisplayKey: s.target.String(), Origin: r.Origin,
		IdempotencyKey: r.Key, Fingerprint: s.fingerprint, Message: r.Message, MessageIntent: s.intent.Name, ConfiguredMaxTurns: configured,
		EffectiveTurns: s.intent.Within(configured, r.NoTurns), MaxFlows: s.service.maxFlows(),
		QueueTimeoutMs: max(s.conf.Defaults.A2A.QueueTimeout, minQueue).Milliseconds(), WaitMs: max(a2a.WaitMs, r.Wait.Milliseconds()), NoAnnounce: r.NoAnnounce,
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

// minQueue is the minimum time that a flow waits for a permit.
const minQueue = time.Second

// internalChannel is the channel of sessions viewed in this program; it takes no posts.
const internalChannel = "webchat"

// announce sets where the target announces the result: where the requester was last spoken to, else the requested session, else the
// target.
func (s *sendOperation) announce(tx eventstore.Tx) error {
	channels := s.service.o.Channels
	if s.r.NoAnnounce || channels == nil {
		return nil
	}
	for _, key := range [...]coordination.SessionKey{s.from, s.target, coordination.MainKey(s.agent)} {
		to, err := sessions.LoadRoute(tx, key)
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

func (s *sendOperation) begin(tx eventstore.Tx, active, waiting int) ([]eventstore.StreamAppend, error) {
	step := a2a.Begin(s.created, active, waiting, s.warned, s.now.UnixMilli())
	done, err := s.service.performed(tx, &a2a.Flow{A2AJobCreated: s.created}, step, s.now)
	if err != nil {
		return nil, err
	}
	if done.refused != nil {
		s.refused = &refusal{StatusError, done.refused.code, done.refused.text, done.refused.hint}
	}
	return causedBy(s.r.From.AskedID, done.appends), nil
}
