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

// ClassNoBot is the failure class of an account that is no longer configured.
const ClassNoBot collaborate.Class = "no_bot"

// ClassAccepted is the failure class of a message that the service has accepted and that did not appear. It may still: it is looked for, and
// never posted again unless a person asks for it.
const ClassAccepted collaborate.Class = "accepted"

// Values of DiscordOutbound.Step. A search is a step of its own.
const (
	StepOpen = "open"
	StepPost = "post"
	StepLook = "look"
)

// Progress is how far a delivery has come; the zero Progress has not started. Apply folds the events of its stream. The worker that
// carries out the steps records each result with the methods below, which have the same effect as the event.
type Progress struct {
	Opened     bool // the thread to open was opened
	ThreadID   string
	ThreadName string
	MessageIDs []string // posted, in order
	SentAt     int64    // when the first was sent according to Discord, ms since 1970

	Text string // the last failure; "" for none
	Hint string // likewise

	told map[State]bool // recorded ends

	// Of the next step:
	since  int64 // when its first attempt may have started, ms since 1970; 0: not yet
	under  bool  // an attempt is running
	broken int   // interrupted attempts
	deed   tries
	look   tries

	unsure   bool  // the action may have been carried out
	unsureAt int64 // since when, ms since 1970
	insisted bool  // repeat the action even if unconfirmed
	waited   bool  // the pause after the last failure is over
	looked   bool  // searched for since the last failure, and missing
}

// tries counts the failures of an action or a search.
type tries struct {
	last       collaborate.Class // "": no failure since it was started
	retryAfter time.Duration     // requested by Discord
	failures   map[collaborate.Class]int
}

func (t *tries) failed(c collaborate.Class, retryAfter time.Duration) {
	if t.failures == nil {
		t.failures = map[collaborate.Class]int{}
	}
	t.last, t.retryAfter = c, retryAfter
	t.failures[c]++
}

// IsRecorded reports whether the end s is recorded already.
func (p *Progress) IsRecorded(s State) bool { return p.told[s] }

// Unsure reports whether the next step may have been carried out.
func (p *Progress) Unsure() bool { return p.unsure || p.under }

// Clone returns an independent copy.
func (p *Progress) Clone() *Progress {
	c := *p
	c.MessageIDs, c.told = slices.Clone(p.MessageIDs), maps.Clone(p.told)
	c.deed.failures, c.look.failures = maps.Clone(p.deed.failures), maps.Clone(p.look.failures)
	return &c
}

// Started records the start of an attempt at ms since 1970.
func (p *Progress) Started(at int64) {
	if p.under {
		p.Broken(at)
	}
	if p.since == 0 {
		p.since = at
	}
	p.under, p.waited = true, true
}

// Returned records the end of an attempt with no action under way.
func (p *Progress) Returned() { p.under = false }

// Broken records an interrupted attempt, whose last action may have been carried out.
func (p *Progress) Broken(at int64) {
	if !p.under {
		return
	}
	p.under, p.looked = false, false
	p.broken++
	if p.deed.last != ClassAccepted {
		p.deed.last = ""
	}
	p.doubt(at)
}

func (p *Progress) doubt(at int64) {
	p.insisted = false
	if !p.unsure {
		p.unsure, p.unsureAt = true, at
	}
}

// OpenedThread records that the thread was opened.
func (p *Progress) OpenedThread(id, name string, at int64) {
	p.Opened, p.ThreadID, p.ThreadName = true, id, name
	p.next(at)
}

// Posted records that the next message was posted.
func (p *Progress) Posted(id string, at int64) {
	p.MessageIDs = append(p.MessageIDs, id)
	if len(p.MessageIDs) == 1 {
		p.SentAt = sentAt(id, at)
	}
	p.next(at)
}

// next moves to the next step.
func (p *Progress) next(at int64) {
	p.since, p.broken, p.deed, p.look = at, 0, tries{}, tries{}
	p.unsure, p.unsureAt, p.insisted, p.waited, p.looked = false, 0, false, false, false
	p.Text, p.Hint = "", ""
}

// Failed records a failed action, or a failed search if look. retryAfter is the pause requested by Discord.
func (p *Progress) Failed(look bool, c collaborate.Class, retryAfter time.Duration, text, hint string, at int64) {
	p.Text, p.Hint, p.waited = text, hint, false
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

// NotFound records that a search found nothing. No event records this: a restarted worker searches again.
func (p *Progress) NotFound() { p.looked, p.look = true, tries{} }

// Resent records that a person asked for another attempt: failures count from zero. An action that may have been carried out is still
// searched for, but repeated if it can be neither confirmed nor searched for.
func (p *Progress) Resent() {
	p.insisted = p.told[Unknown]
	p.broken, p.deed, p.look, p.waited, p.looked = 0, tries{}, tries{}, false, false
}

// Ended records the end s.
func (p *Progress) Ended(s State) {
	if p.told == nil {
		p.told = map[State]bool{}
	}
	p.told[s] = true
}

// Apply folds an event of the delivery's stream and reports whether its type has a meaning here. Redacted data (nil) still counts as the
// step, without its details. An event that cannot be read is an error and changes nothing. ts is ms since 1970.
func (p *Progress) Apply(typ string, data []byte, ts int64) (bool, error) {
	switch typ {
	case coordination.TypeWorkLeased:
		p.Started(ts)
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
		p.doubt(ts) // search for it
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

// discordEpoch is the origin of Discord's ids, ms since 1970; idTime is the number of bits below their timestamp.
const (
	discordEpoch = 1420070400000
	idTime       = 22
)

// sentAt reads the time of a message from its id; otherwise is returned for any other id.
func sentAt(id string, otherwise int64) int64 {
	n, err := strconv.ParseUint(id, 10, 64)
	if err != nil || n>>idTime == 0 {
		return otherwise
	}
	return int64(n>>idTime) + discordEpoch
}
