package inbound

import (
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/delivery"
	"github.com/pronto-lab/openclawd/coordination/route"
	"github.com/pronto-lab/openclawd/coordination/work"
	"github.com/pronto-lab/openclawd/eventstore"
)

// appendsOf returns the events of a decision for the streams of the message and its place, in order. The message's
// stream must be new.
func appendsOf(events []route.Event, messageID string) (appends []eventstore.StreamAppend, err error) {
	made := false
	for _, e := range events {
		a, err := appendOf(streamOf(&e, messageID), e.Type, e.AgentID, e.At, e.Data)
		if err != nil {
			return nil, err
		}
		if last := len(appends) - 1; last >= 0 && appends[last].Stream == a.Stream {
			appends[last].Events = append(appends[last].Events, a.Events...)
			continue
		}
		if !made && a.Stream == coordination.MessageStream(messageID) {
			a.Expect, made = eventstore.NoStream(), true
		}
		appends = append(appends, a)
	}
	return appends, nil
}

func streamOf(e *route.Event, messageID string) string {
	switch d := e.Data.(type) {
	case coordination.Thread:
		return coordination.ThreadStream(d.ThreadID)
	case coordination.ThreadParticipant:
		return coordination.ThreadStream(d.ThreadID)
	case coordination.CollabMessage:
		return coordination.CollabStream(d.CollabID)
	}
	return coordination.MessageStream(messageID)
}

func appendOf(stream, typ, agent string, at int64, data any) (eventstore.StreamAppend, error) {
	a := eventstore.StreamAppend{Stream: stream}
	err := a.Add(eventstore.NewEvent{Type: typ, AgentID: agent, Actor: eventstore.ActorSystem}, data, at)
	return a, err
}

func schedule(d *delivery.Delivery, effectID string, now time.Time) ([]eventstore.StreamAppend, error) {
	asked, err := d.Work(effectID, 0)
	if err == nil {
		err = work.Check(&asked)
	}
	if err != nil {
		return nil, err
	}
	a, err := appendOf(work.Stream(effectID), coordination.TypeWorkScheduled, asked.Owner, now.UnixMilli(), asked)
	a.Expect = eventstore.NoStream()
	return []eventstore.StreamAppend{a}, err
}
