package messenger

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/a2a"
	"github.com/pronto-lab/openclawd/coordination/chain"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/coordination/session"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections/flows"
	"github.com/pronto-lab/openclawd/projections/runs"
	"github.com/pronto-lab/openclawd/projections/sessions"
)

// SpawnRequest is work for a sub-agent.
type SpawnRequest struct {
	From    tool.Caller
	Key     string // as of Request
	Agent   string // agent that does it; "" is the caller's
	Task    string
	Label   string
	Model   string
	Think   string
	Run     *time.Duration // timeout; 0 for none; nil as configured
	Cleanup string         // keep, delete; "" is keep

	TaskID, WorkSessionID, ParentConversationID string
	Hop                                         *int

	// Depth is the sub-agent's depth as its caller sees it. Its events have that, or its real depth if greater; limits use the real one.
	Depth *int `json:",omitempty"`

	// Delegation is the one to retry; "" makes a new one, if there is a task. Note is the reason for the log; the sub-agent is told by
	// Task.
	Delegation string `json:",omitempty"`
	Note       string `json:",omitempty"`
}

// SpawnResult is the answer of sessions_spawn.
type SpawnResult struct {
	Status          string `json:"status"` // accepted, forbidden, error
	ChildSessionKey string `json:"childSessionKey,omitempty"`
	RunID           string `json:"runId,omitempty"`
	JobID           string `json:"jobId,omitempty"`
	Note            string `json:"note,omitempty"`
	ModelApplied    bool   `json:"modelApplied,omitempty"`
	Warning         string `json:"warning,omitempty"`
	Error           string `json:"error,omitempty"`
	Code            string `json:"code,omitempty"` // of an error, as is Hint
	Hint            string `json:"hint,omitempty"`
	ConversationID  string `json:"conversationId,omitempty"`
	WorkSessionID   string `json:"workSessionId,omitempty"`
	TaskID          string `json:"taskId,omitempty"`
	DelegationID    string `json:"delegationId,omitempty"` // its delegation; "" without an open task
	ReplyPreview    string `json:"replyPreview,omitempty"`
	Duplicate       bool   `json:"duplicate,omitempty"` // repetition of an earlier call
}

// spawnNote comes with an accepted sub-agent.
const spawnNote = "The sub-agent works in the background. Its result comes to this session by itself, as a message: do not wait or poll for it."

// Spawn starts a sub-agent. A refusal is in the result, and recorded by an event unless the request itself is invalid. Errors are the
// log's, or ctx's.
func (s *Service) Spawn(ctx context.Context, r SpawnRequest) (SpawnResult, error) {
	op := spawnOperation{service: s, r: &r, config: s.o.Config(), now: s.o.Now(), newID: s.o.NewID()}
	if refused := op.read(); refused != nil {
		return refusedSpawn(refused), nil
	}
	op.belongs = workContext{from: r.From, agent: r.From.AgentID, explicit: r.WorkSessionID, taskID: r.TaskID}
	if _, err := s.o.Log.Decide(ctx, op.decide); err != nil {
		return SpawnResult{}, err
	}
	return op.result, nil
}

// spawnOperation is a sub-agent whose start is being appended.
type spawnOperation struct {
	service *Service
	r       *SpawnRequest
	config  *config.Config
	now     time.Time
	newID   string

	from    coordination.SessionKey
	target  string // agent
	model   string // "" is as configured
	warning string
	think   string // as written
	print   string // fingerprint of the request
	belongs workContext
	passing chainStep

	result SpawnResult
}

// read validates the request as far as that needs no log.
func (s *spawnOperation) read() *refusal {
	invalid := func(reason, hint string) *refusal { return &refusal{StatusError, codeInvalid, reason, hint} }
	var err error
	if s.from, err = coordination.ParseSessionKey(s.r.From.SessionKey); err != nil {
		return invalid(err.Error(), "name the session that starts the sub-agent")
	}
	s.r.From.AgentID = strings.ToLower(cmp.Or(s.r.From.AgentID, s.from.Agent, s.config.DefaultAgentID()))
	if refused := s.check(); refused != nil {
		return refused
	}
	asked := cmp.Or(coordination.TrimJS(s.r.Agent), s.r.From.AgentID)
	if s.target = coordination.NormalizeAgentID(asked); s.target != strings.ToLower(asked) {
		return invalid("this is not a valid agent id: "+coordination.Mask(asked), "name an agent that agents_list shows")
	}
	s.print = s.fingerprint()
	switch s.r.Cleanup = cmp.Or(s.r.Cleanup, CleanupKeep); s.r.Cleanup {
	case CleanupKeep, CleanupDelete:
	default:
		return invalid("unknown cleanup "+coordination.Mask(s.r.Cleanup), "use keep or delete")
	}
	if model := cmp.Or(coordination.TrimJS(s.r.Model), s.config.SubagentModel(s.target)); model != "" {
		s.model = s.config.FullModel(s.target, model)
		if err := s.service.checkModel(s.model); err != nil {
			s.warn("The model " + s.model + " is not usable: " + coordination.Mask(err.Error()) + ". The sub-agent's default is used.")
			s.model = ""
		}
	}
	return s.readLevel()
}

// check returns the objections to the texts of a request.
func (s *spawnOperation) check() *refusal {
	r := s.r
	invalid := func(text, hint string) *refusal { return &refusal{StatusError, codeInvalid, text, hint} }
	switch {
	case coordination.TrimJS(r.Task) == "":
		return invalid("task is missing", "say what the sub-agent is to do")
	case len(r.Task) > MaxMessage:
		return invalid(fmt.Sprintf("task has %d bytes, must have at most %d", len(r.Task), MaxMessage), "shorten it, or put it into a file")
	case !utf8.ValidString(r.Task):
		return invalid("task is not valid UTF-8", "encode it as UTF-8")
	case len(r.Key) > MaxKey:
		return invalid(fmt.Sprintf("idempotencyKey has %d bytes, must have at most %d", len(r.Key), MaxKey), "give a shorter one")
	case r.Run != nil && *r.Run < 0:
		return invalid("runTimeoutSeconds is negative", "give 0 for no limit, or more")
	}
	return checkIDs(namedValue{"taskId", r.TaskID}, namedValue{"workSessionId", r.WorkSessionID}, namedValue{"parentConversationId", r.ParentConversationID},
		namedValue{"delegation", r.Delegation})
}

func (s *Service) checkModel(ref string) error {
	if s.o.CheckModel == nil {
		return nil
	}
	return s.o.CheckModel(ref)
}

// readLevel reads the thinking level of the sub-agent.
func (s *spawnOperation) readLevel() *refusal {
	asked, configured := s.r.Think, s.config.SubagentThinking(s.target)
	if coordination.TrimJS(asked) == "" {
		asked = configured
	}
	if asked == "" {
		return nil
	}
	set, err := s.settings(map[string]string{"thinkingLevel": asked}, func(string) (string, error) { return "", nil })
	switch {
	case err != nil && asked == configured:
		s.warn("The configured thinking level of sub-agents is not usable: " + coordination.Mask(err.Error()) + ". The default is used.")
		return nil
	case err != nil:
		return &refusal{StatusError, codeInvalid, err.Error(), "give another thinking level, or none"}
	}
	s.think = set.Text("thinkingLevel")
	return nil
}

func (s *spawnOperation) warn(text string) {
	if s.warning != "" {
		text = s.warning + " " + text
	}
	s.warning = text
}

func (s *spawnOperation) settings(asked map[string]string, holder func(string) (string, error)) (set session.Settings, err error) {
	values := map[string]json.RawMessage{}
	for name, value := range asked {
		if values[name], err = json.Marshal(value); err != nil {
			return nil, err
		}
	}
	key := coordination.SubagentKey(s.target, s.newID)
	events, err := session.Patch(session.State{Key: key, ID: s.newID},
		session.PatchCommand{Values: values, Model: cmp.Or(s.model, s.config.ModelFor(s.target).Primary)}, holder)
	if err != nil {
		return nil, err
	}
	for _, e := range events {
		if patched, is := e.Data.(coordination.SessionPatched); is {
			return set, json.Unmarshal(patched.Set, &set)
		}
	}
	return nil, nil
}

// decide starts the sub-agent, or refuses it.
func (s *spawnOperation) decide(tx eventstore.Tx) ([]eventstore.StreamAppend, error) {
	s.result = SpawnResult{}
	jobID, err := s.jobID(tx)
	if err != nil {
		return nil, err
	}
	if s.r.Key != "" {
		f, found, err := flows.Load(tx, jobID)
		if err != nil {
			return nil, err
		}
		if found {
			s.result = s.repeated(f)
			return nil, nil
		}
	}
	refused, depth, err := s.limit(tx, jobID)
	if err != nil {
		return nil, err
	}
	if refused != nil {
		s.result = refusedSpawn(refused)
		return s.refuse(tx, refused)
	}
	if refused, err = s.label(tx); err != nil || refused != nil {
		if refused != nil {
			s.result = refusedSpawn(refused)
		}
		return nil, err
	}
	created, err := s.created(tx, jobID, depth)
	if err != nil {
		return nil, err
	}
	return s.begin(tx, &created)
}

// jobID returns the id of the job, the same for a repetition. In a run it depends on the model's call id and the arguments, since some
// models reuse ids, and survives a repetition of the run after a restart.
func (s *spawnOperation) jobID(tx eventstore.Tx) (string, error) {
	if key := s.r.Key; key != "" && s.r.From.RunID != "" {
		root, err := rootOf(tx, s.r.From.RunID)
		return jobIDOf(s.r.From, root+"/"+key+"/"+s.print, s.newID), err
	}
	return jobIDOf(s.r.From, s.r.Key, s.newID), nil
}

func rootOf(tx eventstore.Tx, runID string) (string, error) {
	r, found, err := runs.Load(tx, runID)
	if err != nil || !found {
		return runID, err
	}
	return run.RootOf(r.RunID, r.RetryOf), nil
}

func (s *spawnOperation) fingerprint() string {
	asked := *s.r
	asked.From, asked.Key, asked.Agent = tool.Caller{}, "", s.target
	text, err := json.Marshal(asked)
	if err != nil {
		text = []byte(asked.Task) // it always encodes
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

func (s *spawnOperation) repeated(f *a2a.Flow) SpawnResult {
	if f.Kind != string(a2a.Spawn) || f.Fingerprint != "" && f.Fingerprint != s.print {
		return refusedSpawn(&refusal{StatusError, codeKeyReused, "the idempotency key was used before with another request", "give another key"})
	}
	result := accepted(&f.A2AJobCreated)
	result.Duplicate = true
	if f.Phase == a2a.Over && f.Outcome == coordination.OutcomeValueBlocked {
		result.Status, result.Note, result.Code = StatusError, "", codeNotStarted
		result.Error, result.Hint = "the sub-agent could not be started", "try again with another key"
	}
	return result
}

func accepted(c *coordination.A2AJobCreated) SpawnResult {
	return SpawnResult{
		Status: statusAccepted, ChildSessionKey: c.TargetSessionKey, RunID: c.JobID, JobID: c.JobID, Note: spawnNote, ModelApplied: c.Model != "",
		ConversationID: c.ConversationID, WorkSessionID: c.WorkSessionID, TaskID: c.TaskID, DelegationID: c.DelegationID,
		ReplyPreview: coordination.Preview(coordination.Mask(c.Message), nil, a2a.PreviewLength),
	}
}

// label checks whether the child's session can have its label. A retry goes without a label that the previous attempt still has.
func (s *spawnOperation) label(tx eventstore.Tx) (*refusal, error) {
	if s.r.Label == "" {
		return nil, nil
	}
	set, err := s.settings(map[string]string{"label": s.r.Label}, func(label string) (string, error) {
		if s.r.Delegation != "" {
			return "", nil
		}
		return sessions.LabelHolder(tx, label)
	})
	if refused := (*session.Refusal)(nil); errors.As(err, &refused) {
		return &refusal{StatusError, refused.Reason, refused.Text, "give another label, or none"}, nil
	}
	s.r.Label = set.Text("label")
	return nil, err
}

// context returns the context of the events that start the sub-agent.
func (s *spawnOperation) context(depth int) coordination.Context {
	hop := s.passing.to.Hop
	if s.r.Depth != nil {
		depth = max(depth, *s.r.Depth)
	}
	return coordination.Context{
		ParentConversationID: s.r.ParentConversationID, ParentRunID: s.r.From.RunID, RootRunID: s.passing.to.Root, Depth: &depth,
		Hop:             &hop,
		FromSessionType: sessionTypeOf(s.from), ToSessionType: coordination.SessionSubagent,
	}
}

func (s *spawnOperation) created(tx eventstore.Tx, jobID string, depth int) (created coordination.A2AJobCreated, err error) {
	created = coordination.A2AJobCreated{
		Context: s.context(depth), JobID: jobID, Kind: string(a2a.Spawn), FromAgent: s.r.From.AgentID, ToAgent: s.target, Phase: string(a2a.Waiting),
		RequesterSessionKey: s.from.String(), RequesterRunID: s.r.From.RunID, TargetSessionKey: coordination.SubagentKey(s.target, jobID).String(),
		Origin: OriginOf(s.r.From.Entry), IdempotencyKey: s.r.Key, Fingerprint: s.print, Message: s.r.Task,
		SourceChannel: s.r.From.Channel, FromName: nameOf(s.config, s.r.From.AgentID), ToName: nameOf(s.config, s.target),
		Label: s.r.Label, Model: s.model, Thinking: s.think, Cleanup: s.r.Cleanup, DelegationID: s.r.Delegation,
	}
	if most := cmp.Or(s.r.Run, s.config.Defaults.Subagents.Timeout); most != nil {
		ms := most.Milliseconds()
		created.RunMs = &ms
	}
	if channel := s.r.From.Channel; channel != internalChannel {
		created.AnnounceChannel, created.AnnounceTo = channel, s.r.From.To
		created.AnnounceAccountID, created.AnnounceThreadID = s.r.From.AccountID, s.r.From.ThreadID
	}
	// A conversation of its own, since siblings with the same parent have to be distinguished.
	created.ConversationID = derivedID("conversation of a sub-agent", jobID)
	created.WorkSessionID, created.TaskID, err = s.service.workSession(tx, &s.belongs)
	return created, err
}

func (s *spawnOperation) begin(tx eventstore.Tx, created *coordination.A2AJobCreated) ([]eventstore.StreamAppend, error) {
	asked := &a2a.Flow{A2AJobCreated: *created}
	told, err := s.service.delegated(tx, asked, Moved{To: MovedRunning, Note: s.r.Note}, s.now)
	if refused := taskRefusal(err); refused != nil {
		s.result = refusedSpawn(refused)
		return s.refuse(tx, refused)
	}
	if err != nil {
		return nil, err
	}
	if len(told) > 0 {
		created.DelegationID = cmp.Or(created.DelegationID, created.JobID)
	}
	done, err := s.service.performed(tx, &a2a.Flow{A2AJobCreated: *created}, a2a.BeginSpawn(*created, s.now.UnixMilli()), s.now)
	if err != nil {
		return nil, err
	}
	if done.step.Over { // its run was refused
		m := movedBy(&done.step)
		m.Note = s.r.Note
		if told, err = s.service.delegated(tx, asked, m, s.now); err != nil {
			return nil, err
		}
	}
	done.appends = insertBeforeEnd(done.appends, told)
	s.result = accepted(created)
	s.result.Warning = s.warning
	if why := done.refused; why != nil {
		s.result.Status, s.result.Note, s.result.Code, s.result.Error, s.result.Hint = StatusError, "", why.code, why.text, why.hint
	}
	return causedBy(s.r.From.AskedID, done.appends), nil
}

func (s *spawnOperation) refuse(tx eventstore.Tx, why *refusal) ([]eventstore.StreamAppend, error) {
	r := refusalEvent{from: s.r.From, fromAgent: s.r.From.AgentID, to: s.target, parent: s.r.ParentConversationID,
		fromType: sessionTypeOf(s.from), toType: coordination.SessionSubagent}
	if chain.IsCode(why.code) {
		r.root = s.passing.to.Root
	}
	if err := s.service.locate(tx, &r, &s.belongs); err != nil {
		return nil, err
	}
	return r.event(why, s.now)
}

func refusedSpawn(why *refusal) SpawnResult {
	return SpawnResult{Status: why.status, Code: why.code, Error: coordination.Mask(why.reason), Hint: coordination.Mask(why.hint)}
}

// nameOf returns an agent's display name, "" if it has none.
func nameOf(c *config.Config, agent string) string {
	if a := c.AgentNamed(agent); a != nil {
		return a.Name
	}
	return ""
}

// sessionTypeOf returns the type of the session with a key.
func sessionTypeOf(key coordination.SessionKey) coordination.SessionType {
	if key.Kind == coordination.KeySubagent {
		return coordination.SessionSubagent
	}
	return coordination.SessionMain
}
