package delivery

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/collaborate"
)

// ClassNoBot is what happens where the account is not configured any more.
const ClassNoBot collaborate.Class = "no_bot"

// Values of DiscordOutbound.Step. Looking whether something was done is a step of its own.
const (
	StepOpen = "open"
	StepPost = "post"
	StepLook = "look"
)

// Progress is how far a delivery has come. The zero Progress is that of one that nobody has begun. Apply folds the events of its stream; who does the
// steps tells of each by the methods below, which say the same as its event does.
type Progress struct {
	Opened     bool // the thread was, if there is one to open
	ThreadID   string
	ThreadName string
	MessageIDs []string // that stand there, in order
	SentAt     int64    // of the first, as Discord says, ms since 1970

	Text string // what the last failure was; ""
	Mend string // likewise; ""

	told map[State]bool // ends that the log tells of

	// Of the step that comes next:
	since  int64 // when it may have been begun first, ms since 1970; 0: not yet
	under  bool  // somebody is at it
	broken int   // how often an attempt was broken off
	deed   tries
	look   tries

	unsure   bool  // it may have been done
	unsureAt int64 // since when
	insisted bool  // somebody wants it done whether it was or not
	waited   bool  // the time after the last failure is over
	looked   bool  // it was looked for after the last failure, and is not there
}

// tries are the failures of one thing.
type tries struct {
	last       collaborate.Class // "": it has not failed, or was begun anew
	retryAfter time.Duration     // that Discord has asked for
	failures   map[collaborate.Class]int
}

func (t *tries) failed(c collaborate.Class, retryAfter time.Duration) {
	if t.failures == nil {
		t.failures = map[collaborate.Class]int{}
	}
	t.last, t.retryAfter = c, retryAfter
	t.failures[c]++
}

// Told says whether the log tells of such an end already.
func (p *Progress) Told(s State) bool { return p.told[s] }

// Unsure says whether the step that comes next may have been done.
func (p *Progress) Unsure() bool { return p.unsure || p.under }

// Clone is a Progress of its own.
func (p *Progress) Clone() *Progress {
	c := *p
	c.MessageIDs, c.told = slices.Clone(p.MessageIDs), maps.Clone(p.told)
	c.deed.failures, c.look.failures = maps.Clone(p.deed.failures), maps.Clone(p.look.failures)
	return &c
}

// Begun tells that an attempt begins, at a time in ms since 1970.
func (p *Progress) Begun(at int64) {
	if p.under {
		p.Broken(at)
	}
	if p.since == 0 {
		p.since = at
	}
	p.under, p.waited = true, true
}

// Returned tells that an attempt ends with nothing under way.
func (p *Progress) Returned() { p.under = false }

// Broken tells that an attempt was broken off: nobody knows what it has done last.
func (p *Progress) Broken(at int64) {
	if !p.under {
		return
	}
	p.under, p.looked = false, false
	p.broken++
	p.deed.last = ""
	p.doubt(at)
}

func (p *Progress) doubt(at int64) {
	p.insisted = false
	if !p.unsure {
		p.unsure, p.unsureAt = true, at
	}
}

// OpenedThread tells that the thread stands there.
func (p *Progress) OpenedThread(id, name string, at int64) {
	p.Opened, p.ThreadID, p.ThreadName = true, id, name
	p.next(at)
}

// Posted tells that the next message stands there.
func (p *Progress) Posted(id string, at int64) {
	p.MessageIDs = append(p.MessageIDs, id)
	if len(p.MessageIDs) == 1 {
		p.SentAt = sentAt(id, at)
	}
	p.next(at)
}

// next begins another step.
func (p *Progress) next(at int64) {
	p.since, p.broken, p.deed, p.look = at, 0, tries{}, tries{}
	p.unsure, p.unsureAt, p.insisted, p.waited, p.looked = false, 0, false, false, false
	p.Text, p.Mend = "", ""
}

// Failed tells that the step was not done, for all that is known; look says that it was only looked for. retryAfter is what Discord has asked for.
func (p *Progress) Failed(look bool, c collaborate.Class, retryAfter time.Duration, text, mend string, at int64) {
	p.Text, p.Mend, p.waited = text, mend, false
	if look {
		p.look.failed(c, retryAfter)
		return
	}
	p.deed.failed(c, retryAfter)
	p.looked = false
	if unsure(c) {
		p.doubt(at)
	}
}

// NotFound tells that it was looked for, and is not there. No event says so: who begins anew looks again.
func (p *Progress) NotFound() { p.looked, p.look = true, tries{} }

// Resent tells that somebody wants it tried again: failures count from the beginning. What may have been done is still looked for; but where the log
// said that nobody knows, and nobody can look, it is done again.
func (p *Progress) Resent() {
	p.insisted = p.told[Unknown]
	p.broken, p.deed, p.look, p.waited, p.looked = 0, tries{}, tries{}, false, false
}

// Ended tells of an end that the log tells of.
func (p *Progress) Ended(s State) {
	if p.told == nil {
		p.told = map[State]bool{}
	}
	p.told[s] = true
}

// Apply folds an event of the stream of the delivery. It reports whether the event means anything here. Redacted data (nil) says that something was
// done, and not what. An event that cannot be read is an error and changes nothing. ts is ms since 1970.
func (p *Progress) Apply(typ string, data []byte, ts int64) (bool, error) {
	switch typ {
	case coordination.TypeWorkLeased:
		p.Begun(ts)
	case coordination.TypeWorkReleased:
		p.Returned()
	case coordination.TypeWorkLeaseExpired, coordination.TypeWorkDead:
		p.Broken(ts)
	case coordination.TypeWorkResent:
		p.Resent()
	case coordination.TypeThreadCreated:
		return p.applyThread(data, ts)
	case coordination.TypeDiscordSent, coordination.TypeDiscordSendFailed, coordination.TypeDiscordDeliveryUnknown:
		return p.applyStep(typ, data, ts)
	default:
		return false, nil
	}
	return true, nil
}

func (p *Progress) applyThread(data []byte, ts int64) (bool, error) {
	if data == nil {
		p.doubt(ts) // it is looked for
		return true, nil
	}
	var t coordination.Thread
	if err := json.Unmarshal(data, &t); err != nil {
		return false, fmt.Errorf("read %s: %w", coordination.TypeThreadCreated, err)
	}
	p.OpenedThread(t.ThreadID, t.Name, ts)
	return true, nil
}

func (p *Progress) applyStep(typ string, data []byte, ts int64) (bool, error) {
	var o coordination.DiscordOutbound
	if data != nil {
		if err := json.Unmarshal(data, &o); err != nil {
			return false, fmt.Errorf("read %s: %w", typ, err)
		}
	}
	switch {
	case typ == coordination.TypeDiscordSent:
		p.Posted(o.MessageID, ts)
	case typ == coordination.TypeDiscordDeliveryUnknown:
		p.Ended(Unknown)
		p.Returned()
	default:
		if o.ErrorClass != "" {
			p.Failed(o.Step == StepLook, collaborate.Class(o.ErrorClass), 0, o.Error, "", ts)
		}
		if o.ErrorCode != "" {
			p.Ended(Failed)
			p.Returned()
		}
	}
	return true, nil
}

// discordEpoch is when Discord's ids begin, ms since 1970; idTime is how many bits stand below their time.
const (
	discordEpoch = 1420070400000
	idTime       = 22
)

// sentAt is when a message was sent: its id says so. otherwise is for what is no such id.
func sentAt(id string, otherwise int64) int64 {
	n, err := strconv.ParseUint(id, 10, 64)
	if err != nil || n>>idTime == 0 {
		return otherwise
	}
	return int64(n>>idTime) + discordEpoch
}
