package a2a

import (
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/run"
)

// originUnblock is the origin of requests for help whose sender follows them itself.
const originUnblock = "unblock"

// Unanswered is what the session of the requester is told of a step that ends its flow without an answer: seed 000's message of §11.2, and what was
// asked. It is "" where an answer came, where nobody wants to know, and of a flow that somebody has ended. wakes reports whether the requester runs
// because of it: where the answer would have come to its session as a message.
func (f *Flow) Unanswered(s *Step) (text string, wakes bool) {
	if Kind(f.Kind) != Send || !f.Phase.Open() || !s.Over || f.Redacted || f.nameless() || f.Origin == originUnblock ||
		f.RequesterSessionKey == "" || f.RequesterSessionKey == f.TargetSessionKey {
		return "", false
	}
	for _, e := range s.Events {
		switch data := e.Data.(type) {
		case coordination.A2AResponse:
			if data.Outcome != "" && data.Turn == 0 {
				text = data.Message
			}
		case coordination.A2AJob:
			if e.Type == coordination.TypeA2AJobCancelled {
				return "", false
			}
		}
	}
	if text == "" {
		return "", false
	}
	return text + "\n\n→ " + f.target().called() + ": " + oneLine(coordination.Mask(f.Message), quoteAnswer), f.turns() > 0 && !f.wantsNone()
}

// Woken asks for the run of the requester that is told that nobody has answered. What it says is said to its people, not to the target.
func (f *Flow) Woken(text string) run.Ask {
	a := f.ask(f.JobID+reportSuffix, 1, text, strings.TrimSpace(unansweredRules))
	a.Lane, a.Internal = "", false
	return a
}

// unansweredRules are what the requester is told beside that.
const unansweredRules = `
# A message of yours has no answer
The message was written by the system and tells that nobody has answered what you have sent to another agent.
- Go on without the answer, ask another agent, or tell your user what is missing. Do not send the same message again at once.
- If there is nothing to say, answer NO_REPLY and nothing else.
`
