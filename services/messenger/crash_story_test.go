package messenger_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/a2a"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/eventstore"
)

// story is what a log tells, as far as it was read.
type story struct {
	log   string
	flows map[string]*toldFlow
	order []*toldFlow
	runs  map[string]*toldRun // by the id that was asked for at first
	posts map[string]int      // attempts by flow
	said  map[string]bool     // messages that stand in a transcript, by both
}

// toldFlow is what a log tells of a flow.
type toldFlow struct {
	a2a.Flow
	name      string // of what it is for
	end       string // type of the event that ended its job
	resumes   int
	announced bool
	posting   bool // it came as far as that
	underWay  bool // it is being posted
}

// toldRun is what a log tells of a run and those that repeat it.
type toldRun struct {
	asked   coordination.RunQueued
	open    bool
	running bool
	started int    // how often
	end     string // of the last
	tries   map[string]bool
}

// add goes on by an event, which may not contradict what was told before.
func (s *story) add(e *eventstore.Event) error {
	switch {
	case strings.HasPrefix(e.Type, "a2a.job."):
		return s.job(e)
	case e.Type == coordination.TypeA2AComplete:
		var data coordination.A2AComplete
		if err := json.Unmarshal(e.Data, &data); err != nil {
			return err
		}
		if f := s.flows[data.JobID]; f != nil {
			f.announced = data.Announced
		}
	case e.Type == coordination.TypeWorkLeased:
		if job, is := strings.CutPrefix(e.Stream, "job/"); is {
			s.posts[job]++
			if f := s.flows[job]; f != nil {
				f.underWay = true
			}
		}
	case e.Type == coordination.TypeSessionMessage:
		return s.says(e)
	case strings.HasPrefix(e.Type, "run."):
		return s.run(e)
	}
	return nil
}

// says checks that a message stands in a transcript once, however often its answer was attempted.
func (s *story) says(e *eventstore.Event) error {
	var m coordination.SessionMessage
	if err := json.Unmarshal(e.Data, &m); err != nil || m.Author != "user" {
		return err
	}
	for _, r := range s.runs {
		if !r.tries[m.RunID] {
			continue
		}
		key := m.SessionID + " " + run.MessageOf(r.asked.RunID, r.asked.RetryOf, r.asked.JobID)
		if s.said[key] {
			return errors.New("its message stands there before")
		}
		if s.said == nil {
			s.said = map[string]bool{}
		}
		s.said[key] = true
	}
	return nil
}

func (s *story) job(e *eventstore.Event) error {
	var job coordination.A2AJob
	if err := json.Unmarshal(e.Data, &job); err != nil {
		return err
	}
	f := s.flows[job.JobID]
	if e.Type == coordination.TypeA2AJobCreated {
		if f != nil {
			return errors.New("it was asked for before")
		}
		f = &toldFlow{}
		s.flows[job.JobID] = f
		s.order = append(s.order, f)
	}
	if f == nil {
		return errors.New("it was never requested")
	}
	before := f.Flow
	f.underWay = false
	if _, err := f.Apply(e.Type, e.Data, e.Seq, e.TS); err != nil {
		return err
	}
	f.name = askName.FindString(f.Message)
	switch e.Type {
	case coordination.TypeA2AJobCreated:
	case coordination.TypeA2AJobRunning:
		if f.Phase == a2a.Turn && f.Turn != before.Turn && f.Turn != before.Turn+1 || f.Turn < before.Turn {
			return fmt.Errorf("turn %d follows turn %d", f.Turn, before.Turn)
		}
		f.posting = f.posting || f.Phase == a2a.Posting
	case coordination.TypeA2AJobResumed:
		if f.resumes++; job.ResumeCount != before.Resumed+1 || a2a.Phase(job.Phase) != before.Phase {
			return fmt.Errorf("it stands in phase %s and was resumed %d times since it last came on", before.Phase, before.Resumed)
		}
	default:
		if f.end != "" {
			return errors.New("it has ended before, with " + f.end)
		}
		f.end = e.Type
	}
	return s.permits(f.ToAgent)
}

// permits checks that an agent has no more flows than it may.
func (s *story) permits(agent string) error {
	active := 0
	for _, f := range s.order {
		if f.ToAgent == agent && f.Kind == string(a2a.Send) && f.Phase.Holds() {
			active++
		}
	}
	if active > crashLimit {
		return fmt.Errorf("%s has %d flows at a time", agent, active)
	}
	return nil
}

func (s *story) run(e *eventstore.Event) error {
	var asked coordination.RunQueued
	if err := json.Unmarshal(e.Data, &asked); err != nil {
		return err
	}
	if e.Type == coordination.TypeRunQueued {
		return s.queued(&asked)
	}
	for _, r := range s.runs { // of one that is repeated only the last try is open
		if !r.tries[asked.RunID] {
			continue
		}
		switch e.Type {
		case coordination.TypeRunStarted:
			if f := s.flows[r.asked.JobID]; f != nil && unwanted(f, r) {
				return errors.New("its flow was ended before it begins")
			}
			r.running = true
			r.started++
		default:
			r.open, r.running, r.end = false, false, e.Type
		}
		return nil
	}
	return errors.New("it was never requested")
}

// unwanted reports whether a run of a flow is no longer needed because the flow was stopped.
func unwanted(f *toldFlow, r *toldRun) bool {
	_, part := partOf(r.asked.RunID)
	return f.end == coordination.TypeA2AJobCancelled && part != "p"
}

func (s *story) queued(asked *coordination.RunQueued) error {
	root := run.RootOf(asked.RunID, asked.RetryOf)
	r := s.runs[root]
	if asked.RetryOf == "" {
		if r != nil {
			return errors.New("it was asked for before")
		}
		r = &toldRun{asked: *asked, tries: map[string]bool{}}
		s.runs[root] = r
	}
	f := s.flows[asked.JobID]
	switch {
	case r == nil || r.open:
		return errors.New("it repeats what is not broken off")
	case r.tries[asked.RunID]:
		return errors.New("this try was asked for before")
	case asked.RetryOf != "" && f != nil && unwanted(f, r):
		return errors.New("its flow was ended, and it is repeated")
	}
	r.tries[asked.RunID], r.open = true, true
	return nil
}

// standing is the run that an open flow waits for; nil for none.
func (s *story) standing(f *toldFlow) *toldRun {
	switch f.Phase {
	case a2a.Waiting, a2a.Turn, a2a.Announcing:
		return s.runs[f.RunID]
	}
	return nil
}

// check checks what holds at any time.
func (s *story) check(t testing.TB) {
	t.Helper()
	fault := s.faults(t)
	for _, f := range s.order {
		switch r := s.standing(f); f.Phase {
		case a2a.Waiting, a2a.Turn, a2a.Announcing:
			if r == nil || !r.open {
				fault(f, "it waits in phase %s for run %s, which is not there or is over", f.Phase, f.RunID)
			}
		case a2a.Dispatching:
			if s.runs[f.JobID] != nil {
				fault(f, "it waits for a permit, but its run was asked for")
			}
		}
		reports := s.runs[f.JobID+".p"]
		wanted := f.Kind == string(a2a.Spawn) && f.Phase == a2a.Over && f.announced
		if (reports != nil) != wanted {
			fault(f, "%s, announced: %v; its parent is told: %v", f.Phase, f.announced, reports != nil)
		}
		if reports != nil && reports.asked.SessionKey != f.RequesterSessionKey {
			fault(f, "%s is told instead of %s", reports.asked.SessionKey, f.RequesterSessionKey)
		}
	}
	asked := map[string]int{} // flows, by what they are for and their kind
	for _, f := range s.order {
		if id := f.name + " " + f.Kind; f.name != "" {
			if asked[id]++; asked[id] > 1 {
				fault(f, "it was asked for twice")
			}
		}
	}
}

func (s *story) faults(t testing.TB) func(f *toldFlow, format string, args ...any) {
	return func(f *toldFlow, format string, args ...any) {
		t.Helper()
		t.Errorf("%s: flow %s (%s, %s): %s", s.log, f.JobID, f.Kind, f.name, fmt.Sprintf(format, args...))
	}
}

// checkWhole checks what holds when nothing is left to do.
func (s *story) checkWhole(t testing.TB) {
	t.Helper()
	fault := s.faults(t)
	for _, f := range s.order {
		if f.Phase != a2a.Over {
			fault(f, "it is open: %s", f.Phase)
		}
		if f.announced && f.Kind == string(a2a.Send) && s.posts[f.JobID] == 0 {
			fault(f, "the announcement was not posted")
		}
		switch wrong := sortOf(f.name) == sortWrong; {
		case wrong && f.Outcome == a2a.OutcomeOK:
			fault(f, "it has an answer that no model has given")
		case f.Outcome == a2a.OutcomeOK && sortOf(f.name) == sortTalk && f.Turn != 2 && f.EndedEarly != "agent_error":
			fault(f, "%d turns, ended early: %q", f.Turn, f.EndedEarly)
		case f.Outcome == a2a.OutcomeOK && sortOf(f.name) == sortBusy && f.Attempt != 3 && f.RunID != f.JobID+".r3":
			fault(f, "answered at attempt %d", f.Attempt)
		case f.Kind == string(a2a.Send) && !slices.Contains([]string{a2a.OutcomeOK, coordination.OutcomeValueNoReply, coordination.OutcomeValueCancelled,
			coordination.OutcomeValueAbandoned}, f.Outcome):
			fault(f, "it ended %s", f.Outcome)
		}
	}
	for root, r := range s.runs {
		if r.open {
			t.Errorf("%s: run %s is open", s.log, root)
		}
		if sortOf(root) != sortTell || r.end != coordination.TypeRunEnded {
			continue
		}
		for _, kind := range []a2a.Kind{a2a.Send, a2a.Spawn} {
			if !slices.ContainsFunc(s.order, func(f *toldFlow) bool { return f.name == root && f.Kind == string(kind) }) {
				t.Errorf("%s: run %s has ended, but its %s is not there", s.log, root, kind)
			}
		}
	}
}

// checkAcks sees that what was acknowledged is so.
func (s *story) checkAcks(t testing.TB, acked []string) {
	t.Helper()
	tries := map[string]*toldRun{}
	for _, r := range s.runs {
		for id := range r.tries {
			tries[id] = r
		}
	}
	for _, ack := range acked {
		of, rest, _ := strings.Cut(ack, " ")
		what, id, _ := strings.Cut(rest, " ")
		if of != s.log {
			continue
		}
		ok := true
		switch what {
		case "started":
			ok = s.flows[id] != nil
		case "cancelled":
			ok = s.flows[id] != nil && s.flows[id].end == coordination.TypeA2AJobCancelled
		case "accepted":
			ok = s.runs[id] != nil
		case "ended":
			ok = tries[id] != nil && tries[id].end != ""
		}
		if !ok {
			t.Errorf("acknowledged %q is not so", ack)
		}
	}
}

// checkResumed sees that a restart has looked after what was open once. awake: it came as far as that.
func (s *story) checkResumed(t testing.TB, before *story, awake bool) {
	t.Helper()
	fault := s.faults(t)
	for _, was := range before.order {
		is := s.flows[was.JobID]
		switch {
		case is == nil:
			fault(was, "it is gone")
		case is.resumes-was.resumes > 1:
			fault(is, "resumed %d times by one restart", is.resumes-was.resumes)
		case awake && was.Phase.Holds() && is.resumes == was.resumes && is.end != coordination.TypeA2AJobAbandoned && is.Outcome != coordination.OutcomeValueAbandoned:
			fault(is, "it was %s when the process was killed, and was not resumed", was.Phase)
		}
	}
}

// checkOutside sees that models and the channel were asked for nothing that the log does not tell, and again only with the same key.
func (s *story) checkOutside(t testing.TB, o *outside) {
	t.Helper()
	o.mu.Lock()
	defer o.mu.Unlock()
	for key, calls := range o.calls {
		root, step, _ := strings.Cut(key, ":")
		r := s.runs[root]
		if r == nil || strings.HasPrefix(root, "spoken-") { // of another log, or of all
			continue
		}
		for _, call := range calls {
			if call != calls[0] {
				t.Errorf("%s: a model was asked %+v and %+v with the same key %s", s.log, calls[0], call, key)
			}
		}
		if len(calls) > r.started {
			t.Errorf("%s: call %s was made %d times, its run was attempted %d times", s.log, key, len(calls), r.started)
		}
		if wrong := s.wrongCall(r, root, step, calls[0].message); wrong != "" {
			t.Errorf("%s: call %s asks for %q: %s", s.log, key, calls[0].message, wrong)
		}
	}
	for root, r := range s.runs {
		if r.end == coordination.TypeRunEnded && !strings.HasPrefix(root, "spoken-") && len(o.calls[root+":1"]) == 0 {
			t.Errorf("%s: run %s has ended, but no model was asked", s.log, root)
		}
	}
	for _, f := range s.order {
		key := f.JobID + ".post"
		posts := o.said[key]
		fault := s.faults(t)
		switch {
		case len(posts) > s.posts[f.JobID] || len(posts) > 0 && !f.posting:
			fault(f, "posted %d times, attempted %d times, came as far as that: %v", len(posts), s.posts[f.JobID], f.posting)
		case f.announced && f.Kind == string(a2a.Send) && !slices.ContainsFunc(posts, func(p said) bool { return p.ok }):
			fault(f, "announced in a channel without readers")
		}
		for _, p := range posts {
			if p.post != posts[0].post || p.post.Text != "it is done: "+f.name {
				fault(f, "posted %+v and %+v with one key", posts[0].post, p.post)
			}
		}
	}
}

// wrongCall says what is wrong with what a run has asked a model, "" for nothing: each step of a flow is about what the flow is about, and comes
// where it belongs.
func (s *story) wrongCall(r *toldRun, root, step, message string) string {
	job, part := partOf(root)
	f := s.flows[job]
	if f == nil {
		if !strings.HasSuffix(message, root) || step != "1" && step != "2" {
			return "a person has not asked for that"
		}
		return ""
	}
	points := strings.Count(message, pointWord)
	turn, err := strconv.Atoi(strings.TrimPrefix(part, "t"))
	switch {
	case step != "1":
		return "it has one step"
	case part == "a" && message == announceText:
		return ""
	case part != "p" && askName.FindString(message) != f.name:
		return "the flow is about " + f.name
	case strings.HasPrefix(part, "t") && (err != nil || points != turn+1):
		return "it belongs elsewhere"
	case (part == "" || part[0] == 'r') && points > 1:
		return "it is not a first answer"
	}
	return ""
}

// countWhere counts where flows are that a kill has met.
func (s *story) countWhere(fell map[string]int) {
	for _, f := range s.order {
		if !f.Phase.Open() {
			continue
		}
		where := string(f.Phase)
		if f.Phase == a2a.Turn {
			where = fmt.Sprintf("turn %d", f.Turn)
		}
		fell[where]++
		if f.Kind == string(a2a.Spawn) {
			fell["spawn"]++
		}
		if f.underWay {
			fell["posting, under way"]++
		}
		if f.Phase == a2a.Waiting && f.Attempt > 1 {
			fell["waiting for a retry"]++
		}
		if r := s.standing(f); r != nil && r.running {
			fell["started"]++
		} else if r != nil {
			fell["queued"]++
		}
	}
}
