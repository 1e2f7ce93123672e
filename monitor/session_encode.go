package monitor

import (
	"encoding/json"

	"github.com/pronto-lab/openclawd/projections/conversations"
)

func (a *sessionsAnswer) encode() (json.RawMessage, error) {
	t := jsonText{make([]byte, 0, sizeOf(a.Sessions))}
	t.open()
	t.name("sessions")
	elements(&t, a.Sessions, func(s sessionAnswer) { s.write(&t) })
	err := t.rest(a.sessionsRest)
	t.close()
	return t.b, err
}

func (a *sessionDetail) encode() (json.RawMessage, error) {
	t := jsonText{make([]byte, 0, sizeOf([]sessionAnswer{*a.Session}))}
	t.open()
	t.name("session")
	a.Session.write(&t)
	err := t.rest(a.detailRest)
	t.close()
	return t.b, err
}

func (a *eventsAnswer) encode() (json.RawMessage, error) {
	const around = 2_048
	size := around
	for _, e := range a.Events {
		size += len(e) + 1
	}
	t := jsonText{make([]byte, 0, size)}
	t.open()
	t.name("events")
	t.events(a.Events)
	err := t.rest(a.eventsRest)
	t.close()
	return t.b, err
}

// sizeOf is about the size of sessions in JSON.
func sizeOf(sessions []sessionAnswer) int {
	const around, session, thread = 2_048, 2_048, 512
	size := around
	for i := range sessions {
		size += session + thread*len(sessions[i].Threads)
		for j := range sessions[i].Threads {
			for _, e := range sessions[i].Threads[j].Events {
				size += len(e) + 1
			}
		}
	}
	return size
}

func (a *sessionAnswer) write(t *jsonText) {
	t.open()
	t.text("id", a.ID)
	t.text("workSessionId", a.WorkSessionID)
	t.text("status", string(a.Status))
	t.number("startTime", a.StartTime)
	t.number("lastTime", a.LastTime)
	t.number("durationMs", a.DurationMs)
	t.integer("threadCount", a.ThreadCount)
	t.integer("eventCount", a.EventCount)
	t.text("collabCategory", string(a.CollabCategory))
	texts(t, "collabSubTags", a.CollabSubTags)
	t.text("categorySource", a.CategorySource)
	t.text("votedCategory", string(a.VotedCategory))
	t.textIfAny("updatedAt", a.UpdatedAt)
	t.textIfAny("updatedBy", a.UpdatedBy)
	counts(t, "roleCounts", a.RoleCounts)
	t.name("threads")
	elements(t, a.Threads, func(thread threadAnswer) { thread.write(t) })
	t.name("totals")
	a.Totals.write(t)
	t.text("title", a.Title)
	t.text("summary", a.Summary)
	t.name("participants")
	elements(t, a.Participants, func(p conversations.Participant) { writeParticipant(t, &p) })
	t.text("outcome", string(a.Outcome))
	counts(t, "outcomeCounts", a.OutcomeCounts)
	pointer(t, "blockedReason", a.BlockedReason)
	pointer(t, "reasonCode", a.ReasonCode)
	t.integer("openThreads", a.OpenThreads)
	t.integer("openTasks", a.OpenTasks)
	t.integer("blockedTasks", a.BlockedTasks)
	t.integerIfAny("openFlows", a.OpenFlows)
	t.integerIfAny("openRuns", a.OpenRuns)
	t.name("lastMessage")
	a.LastMessage.write(t)
	t.text("categoryLabel", a.CategoryLabel)
	texts(t, "collabSecondary", a.CollabSecondary)
	pointer(t, "previousWorkSessionId", a.PreviousWorkSessionID)
	pointer(t, "nextWorkSessionId", a.NextWorkSessionID)
	t.integer("seq", a.Seq)
	if a.EventsTruncated {
		t.yes("eventsTruncated", true)
	}
	t.close()
}

func (a *totalsAnswer) write(t *jsonText) {
	t.open()
	t.number("startTime", a.StartTime)
	t.number("lastTime", a.LastTime)
	t.number("durationMs", a.DurationMs)
	t.integer("threadCount", a.ThreadCount)
	t.integer("eventCount", a.EventCount)
	t.close()
}

func (a *threadAnswer) write(t *jsonText) {
	t.open()
	t.text("id", a.ID)
	t.textIfAny("conversationId", a.ConversationID)
	t.text("fromAgent", a.FromAgent)
	t.text("toAgent", a.ToAgent)
	t.number("startTime", a.StartTime)
	t.number("lastTime", a.LastTime)
	t.integer("eventCount", a.EventCount)
	t.text("collabCategory", string(a.CollabCategory))
	texts(t, "collabSubTags", a.CollabSubTags)
	if a.Events != nil {
		t.name("events")
		t.events(a.Events)
	}
	t.textIfAny("parentConversationId", a.ParentConversationID)
	pointer(t, "outcome", a.Outcome)
	t.yes("open", a.Open)
	pointer(t, "reason", a.Reason)
	pointer(t, "reasonCode", a.ReasonCode)
	t.textIfAny("displayText", a.DisplayText)
	t.close()
}

func writeParticipant(t *jsonText, p *conversations.Participant) {
	t.open()
	t.text("agent", p.Agent)
	t.textIfAny("name", p.Name)
	t.text("type", string(p.Type))
	t.close()
}

func (a *messageAnswer) write(t *jsonText) {
	if a == nil {
		t.b = append(t.b, "null"...)
		return
	}
	t.open()
	t.text("from", a.From)
	pointer(t, "to", a.To)
	t.text("text", a.Text)
	t.text("type", a.Type)
	t.number("time", a.Time)
	t.integer("seq", a.Seq)
	t.close()
}
