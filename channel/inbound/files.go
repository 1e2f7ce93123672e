package inbound

import (
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/attach"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/coordination/work"
	"github.com/pronto-lab/openclawd/eventstore"
)

// files schedules the fetching of a message's files for a handler, and has its run wait for them: both have the session's key. Of what openclawd
// has posted these are the files of the whole post, which lie beside the log. If it is impossible, the run goes on without the files.
func (h *intake) files(ask *run.Ask) []eventstore.StreamAppend {
	m := &h.in.Message
	if len(m.Attachments) == 0 && len(h.posted) == 0 {
		return nil
	}
	o := attach.Order{Channel: h.o.Channel, AccountID: h.in.AccountID, AgentID: ask.Session.Agent, MessageID: m.ID}
	for i := range h.posted {
		f := &h.posted[i]
		o.Files = append(o.Files, attach.File{Name: f.Name, Type: f.Type, Size: f.Size, SHA256: f.SHA256})
	}
	for i := range m.Attachments {
		if a := &m.Attachments[i]; len(h.posted) == 0 {
			o.Files = append(o.Files, attach.File{Name: a.Name, Type: a.Type, Size: a.Size, Ref: a.Ref})
		}
	}
	asked, err := o.Work(ask.RunID, ask.Session.String())
	if err == nil {
		err = work.Check(&asked)
	}
	var scheduled eventstore.StreamAppend
	if err == nil {
		scheduled, err = appendOf(work.Stream(asked.EffectID), coordination.TypeWorkScheduled, asked.Owner, h.now.UnixMilli(), asked)
	}
	if err != nil {
		h.o.Logger.Warn("cannot fetch the files of a message", "message", m.ID, "agent", o.AgentID, "err", err)
		return nil
	}
	ask.Files = asked.EffectID
	scheduled.Expect = eventstore.NoStream()
	return []eventstore.StreamAppend{scheduled}
}
