package a2a

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
	decide "github.com/pronto-lab/openclawd/coordination/a2a"
	"github.com/pronto-lab/openclawd/coordination/chain"
	"github.com/pronto-lab/openclawd/coordination/run"
	state "github.com/pronto-lab/openclawd/coordination/session"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/eventstore"
	flows "github.com/pronto-lab/openclawd/projections/a2a"
	runs "github.com/pronto-lab/openclawd/projections/run"
	"github.com/pronto-lab/openclawd/projections/session"
	"github.com/pronto-lab/openclawd/tools"
)

// SpawnRequest is work for a sub-agent.
type SpawnRequest struct {
	From    tool.Caller
	Key     string // as of Request
	Agent   string // who does it; "" is the caller's agent
	Task    string
	Label   string
	Model   string
	Think   string
	Run     *time.Duration // how long it may take; 0 is for ever; nil is as configured
	Cleanup string         // keep, delete; "" is keep

	TaskID, WorkSessionID, ParentConversationID string
	Hop                                         *int

	// Depth is how deep its caller takes the sub-agent to be. What its events say is that, or its real depth where that is more; limits go by
	// the real one.
	Depth *int `json:",omitempty"`

	// Delegation is one that is tried again; "" is a new one, if there is a task. Note is why, as the log is told; the sub-agent is told by Task.
	Delegation string `json:",omitempty"`
	Note       string `json:",omitempty"`
}

// SpawnResult is what sessions_spawn answers.
type SpawnResult struct {
	Status          string `json:"status"` // accepted, forbidden, error
	ChildSessionKey string `json:"childSessionKey,omitempty"`
	RunID           string `json:"runId,omitempty"`
	JobID           string `json:"jobId,omitempty"`
	Note            string `json:"note,omitempty"`
	ModelApplied    bool   `json:"modelApplied,omitempty"`
	Warning         string `json:"warning,omitempty"`
	Error           string `json:"error,omitempty"`
	Code            string `json:"code,omitempty"` // of an error, as Mend
	Mend            string `json:"mend,omitempty"`
	ConversationID  string `json:"conversationId,omitempty"`
	WorkSessionID   string `json:"workSessionId,omitempty"`
	TaskID          string `json:"taskId,omitempty"`
	DelegationID    string `json:"delegationId,omitempty"` // what it does for the task; "" if it does nothing for a task that is open
	ReplyPreview    string `json:"replyPreview,omitempty"`
	Duplicate       bool   `json:"duplicate,omitempty"` // it was started before
}

// spawnNote is told with what was accepted.
const spawnNote = "The sub-agent works in the background. Its result comes to this session by itself, as a message: do not wait or poll for it."

// Spawn starts a sub-agent. What refuses it is told by the result, and by an event unless what was asked for is at fault by itself. Errors are
// the log's, or ctx's.
func (c *Coordinator) Spawn(ctx context.Context, r SpawnRequest) (SpawnResult, error) {
	s := spawning{c: c, r: &r, config: c.o.Config(), now: c.o.Now(), newID: c.o.NewID()}
	if refused := s.read(); refused != nil {
		return refusedSpawn(refused), nil
	}
	s.belongs = belonging{from: r.From, agent: r.From.AgentID, explicit: r.WorkSessionID, taskID: r.TaskID}
	if _, err := c.o.Log.Decide(ctx, s.decide); err != nil {
		return SpawnResult{}, err
	}
	return s.result, nil
}

// spawning is a sub-agent on its way into the log.
type spawning struct {
	c      *Coordinator
	r      *SpawnRequest
	config *config.Config
	now    time.Time
	newID  string

	from    coordination.SessionKey
	target  string // agent
	model   string // "" is as configured
	warning string
	think   string // as it is written
	print   string // of what is asked for
	belongs belonging
	passing passing

	result SpawnResult
}

// read sees what is asked for, as far as the log need not be known.
func (s *spawning) read() *refusal {
	invalid := func(reason, mend string) *refusal { return &refusal{statusError, codeInvalid, reason, mend} }
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
		return invalid("this is no id of an agent: "+coordination.Mask(asked), "name an agent that agents_list shows")
	}
	s.print = s.fingerprint()
	switch s.r.Cleanup = cmp.Or(s.r.Cleanup, CleanupKeep); s.r.Cleanup {
	case CleanupKeep, CleanupDelete:
	default:
		return invalid("unknown cleanup "+coordination.Mask(s.r.Cleanup), "use keep or delete")
	}
	if model := cmp.Or(coordination.TrimJS(s.r.Model), s.config.SubagentModel(s.target)); model != "" {
		s.model = tools.WholeModel(s.config, s.target, model)
		if err := s.c.checkModel(s.model); err != nil {
			s.warn("The model " + s.model + " is not used: " + coordination.Mask(err.Error()) + ". The sub-agent's usual one is.")
			s.model = ""
		}
	}
	return s.readLevel()
}

// check is what stands against the texts of a request.
func (s *spawning) check() *refusal {
	r := s.r
	invalid := func(text, mend string) *refusal { return &refusal{statusError, codeInvalid, text, mend} }
	switch {
	case coordination.TrimJS(r.Task) == "":
		return invalid("task is missing", "say what the sub-agent is to do")
	case len(r.Task) > MaxMessage:
		return invalid(fmt.Sprintf("task has %d bytes, must have at most %d", len(r.Task), MaxMessage), "shorten it, or put it into a file")
	case !utf8.ValidString(r.Task):
		return invalid("task is no UTF-8", "write it in UTF-8")
	case len(r.Key) > MaxKey:
		return invalid(fmt.Sprintf("idempotencyKey has %d bytes, must have at most %d", len(r.Key), MaxKey), "give a shorter one")
	case r.Run != nil && *r.Run < 0:
		return invalid("runTimeoutSeconds is negative", "give 0 for no limit, or more")
	}
	return checkIDs(argument{"taskId", r.TaskID}, argument{"workSessionId", r.WorkSessionID}, argument{"parentConversationId", r.ParentConversationID},
		argument{"delegation", r.Delegation})
}

func (c *Coordinator) checkModel(ref string) error {
	if c.o.CheckModel == nil {
		return nil
	}
	return c.o.CheckModel(ref)
}

// readLevel reads how hard the sub-agent is to think.
func (s *spawning) readLevel() *refusal {
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
		s.warn("The configured thinking level of sub-agents is not used: " + coordination.Mask(err.Error()) + ". The usual one is.")
		return nil
	case err != nil:
		return &refusal{statusError, codeInvalid, err.Error(), "give another thinking level, or none"}
	}
	s.think = set.Text("thinkingLevel")
	return nil
}

// warn tells the caller of something beside what it asked for.
func (s *spawning) warn(text string) {
	if s.warning != "" {
		text = s.warning + " " + text
	}
	s.warning = text
}

// settings are settings of the child's session, as they would be kept.
func (s *spawning) settings(asked map[string]string, holder func(string) (string, error)) (set state.Settings, err error) {
	values := map[string]json.RawMessage{}
	for name, value := range asked {
		if values[name], err = json.Marshal(value); err != nil {
			return nil, err
		}
	}
	key := coordination.SubagentKey(s.target, s.newID)
	events, err := state.Patch(state.State{Key: key, ID: s.newID},
		state.PatchCommand{Values: values, Model: cmp.Or(s.model, s.config.ModelFor(s.target).Primary)}, holder)
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

// decide starts the sub-agent, or says why it does not.
func (s *spawning) decide(tx eventstore.Tx) ([]eventstore.StreamAppend, error) {
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
			s.result = s.again(f)
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

// jobID is the id of the job, the same for a repetition. In a run it is one if it is asked for by the same call of its model with the same
// arguments, also when a restart has the run begin again; some models give the same id to call after call.
func (s *spawning) jobID(tx eventstore.Tx) (string, error) {
	if key := s.r.Key; key != "" && s.r.From.RunID != "" {
		root, err := rootOf(tx, s.r.From.RunID)
		return jobIDOf(s.r.From, root+"/"+key+"/"+s.print, s.newID), err
	}
	return jobIDOf(s.r.From, s.r.Key, s.newID), nil
}

// rootOf is the run that was asked for at first.
func rootOf(tx eventstore.Tx, runID string) (string, error) {
	r, found, err := runs.Load(tx, runID)
	if err != nil || !found {
		return runID, err
	}
	return run.RootOf(r.RunID, r.RetryOf), nil
}

// fingerprint is of what is asked for.
func (s *spawning) fingerprint() string {
	asked := *s.r
	asked.From, asked.Key, asked.Agent = tool.Caller{}, "", s.target
	text, err := json.Marshal(asked)
	if err != nil {
		text = []byte(asked.Task) // it can always be written
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// again is the answer to who asks once more.
func (s *spawning) again(f *decide.Flow) SpawnResult {
	if f.Kind != string(decide.Spawn) || f.Fingerprint != "" && f.Fingerprint != s.print {
		return refusedSpawn(&refusal{statusError, codeKeyReused, "the idempotency key was given before, for something else", "give another key"})
	}
	result := accepted(&f.A2AJobCreated)
	result.Duplicate = true
	if f.Phase == decide.Over && f.Outcome == coordination.OutcomeValueBlocked {
		result.Status, result.Note, result.Code = statusError, "", codeNotStarted
		result.Error, result.Mend = "the sub-agent could not be started", "try again with another key"
	}
	return result
}

// accepted is the answer to who has started a sub-agent.
func accepted(c *coordination.A2AJobCreated) SpawnResult {
	return SpawnResult{
		Status: statusAccepted, ChildSessionKey: c.TargetSessionKey, RunID: c.JobID, JobID: c.JobID, Note: spawnNote, ModelApplied: c.Model != "",
		ConversationID: c.ConversationID, WorkSessionID: c.WorkSessionID, TaskID: c.TaskID, DelegationID: c.DelegationID,
		ReplyPreview: coordination.Preview(coordination.Mask(c.Message), nil, decide.PreviewLength),
	}
}

// label sees whether the child's session can have its label. One that tries again what another has tried does without where that has it.
func (s *spawning) label(tx eventstore.Tx) (*refusal, error) {
	if s.r.Label == "" {
		return nil, nil
	}
	set, err := s.settings(map[string]string{"label": s.r.Label}, func(label string) (string, error) {
		if s.r.Delegation != "" {
			return "", nil
		}
		return session.LabelHolder(tx, label)
	})
	if refused := (*state.Refusal)(nil); errors.As(err, &refused) {
		return &refusal{statusError, refused.Code, refused.Text, "give another label, or none"}, nil
	}
	s.r.Label = set.Text("label")
	return nil, err
}

// context is where the events belong that the sub-agent is started with.
func (s *spawning) context(depth int) coordination.Context {
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

func (s *spawning) created(tx eventstore.Tx, jobID string, depth int) (created coordination.A2AJobCreated, err error) {
	created = coordination.A2AJobCreated{
		Context: s.context(depth), JobID: jobID, Kind: string(decide.Spawn), FromAgent: s.r.From.AgentID, ToAgent: s.target, Phase: string(decide.Waiting),
		RequesterSessionKey: s.from.String(), RequesterRunID: s.r.From.RunID, TargetSessionKey: coordination.SubagentKey(s.target, jobID).String(),
		Origin: originOf(s.r.From.Entry), IdempotencyKey: s.r.Key, Fingerprint: s.print, Message: s.r.Task,
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
	// A conversation of its own, also where others have the same parent: siblings have to be told apart.
	created.ConversationID = derivedID("conversation of a sub-agent", jobID)
	created.WorkSessionID, created.TaskID, err = s.c.workSession(tx, &s.belongs)
	return created, err
}

// begin appends what starts the sub-agent, and what the task is told for which that is.
func (s *spawning) begin(tx eventstore.Tx, created *coordination.A2AJobCreated) ([]eventstore.StreamAppend, error) {
	asked := &decide.Flow{A2AJobCreated: *created}
	told, err := s.c.delegated(tx, asked, Moved{To: MovedRunning, Note: s.r.Note}, s.now)
	if refused := unwilling(err); refused != nil {
		s.result = refusedSpawn(refused)
		return s.refuse(tx, refused)
	}
	if err != nil {
		return nil, err
	}
	if len(told) > 0 {
		created.DelegationID = cmp.Or(created.DelegationID, created.JobID)
	}
	done, err := s.c.performed(tx, &decide.Flow{A2AJobCreated: *created}, decide.BeginSpawn(*created, s.now.UnixMilli()), s.now)
	if err != nil {
		return nil, err
	}
	if done.step.Over { // its run was refused
		m := movedBy(&done.step)
		m.Note = s.r.Note
		if told, err = s.c.delegated(tx, asked, m, s.now); err != nil {
			return nil, err
		}
	}
	done.appends = beforeTheEnd(done.appends, told)
	s.result = accepted(created)
	s.result.Warning = s.warning
	if why := done.refused; why != nil {
		s.result.Status, s.result.Note, s.result.Code, s.result.Error, s.result.Mend = statusError, "", why.code, why.text, why.mend
	}
	return causedBy(s.r.From.AskedID, done.appends), nil
}

// refuse is the event of a sub-agent that is not started.
func (s *spawning) refuse(tx eventstore.Tx, why *refusal) ([]eventstore.StreamAppend, error) {
	r := refusing{from: s.r.From, fromAgent: s.r.From.AgentID, to: s.target, parent: s.r.ParentConversationID,
		fromType: sessionTypeOf(s.from), toType: coordination.SessionSubagent}
	if chain.IsCode(why.code) {
		r.root = s.passing.to.Root
	}
	if err := s.c.locate(tx, &r, &s.belongs); err != nil {
		return nil, err
	}
	return r.event(why, s.now)
}

func refusedSpawn(why *refusal) SpawnResult {
	return SpawnResult{Status: why.status, Code: why.code, Error: coordination.Mask(why.reason), Mend: coordination.Mask(why.mend)}
}

// nameOf is how people call an agent, "" if they call it by its id.
func nameOf(c *config.Config, agent string) string {
	if a := c.AgentNamed(agent); a != nil {
		return a.Name
	}
	return ""
}

// sessionTypeOf is what kind of session a key names.
func sessionTypeOf(key coordination.SessionKey) coordination.SessionType {
	if key.Kind == coordination.KeySubagent {
		return coordination.SessionSubagent
	}
	return coordination.SessionMain
}
