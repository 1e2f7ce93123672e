package a2a

import (
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/run"
)

// originUnblock is the origin of requests for help whose sender follows them up itself.
const originUnblock = "unblock"

// Unanswered is the message to the requester's session about a step that ends its flow without an answer: the original
// gateway's message, and the request. It is "" if there was an answer, if the requester does not want to know, and for
// a flow stopped on request. wakes reports whether the requester runs because of it: if the answer would have come to
// its session as a message.
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
	return text + "\n\n→ " + f.target().called() + ": " + oneLine(coordination.Mask(f.Message), quoteAnswer), f.turns() > 0 && !f.isNotification()
}

// Woken requests a run in which the requester learns that there is no answer. Its text goes to its people, not to the target.
func (f *Flow) Woken(text string) run.Ask {
	a := f.ask(f.JobID+reportSuffix, 1, text, strings.TrimSpace(unansweredRules))
	a.Lane, a.Internal = "", false
	return a
}

// unansweredRules are the instructions for the requester in addition to that.
const unansweredRules = `
# A message of yours has no answer
The message was written by the system and says that there is no answer to what you have sent to another agent.
- Go on without the answer, ask another agent, or tell your user what is missing. Do not send the same message again at once.
- If there is nothing to say, answer NO_REPLY and nothing else.
`
