package slack

import (
	"cmp"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pronto-lab/openclawd/channel"
	"github.com/pronto-lab/openclawd/coordination/collaborate"
	"github.com/pronto-lab/openclawd/coordination/health"
)

// Limits of reading after a disconnection. What exceeds the first four is not delivered; health.Bot.Unread counts it.
const (
	maxMissedChannels = 100 // conversations, most recently used first
	maxMissedThreads  = 50  // likewise
	maxMissedPages    = 5   // messages per conversation or thread
	maxOlderPages     = 3   // messages from before, which may have new replies; after a brief gap, one
	threadMemory      = 7 * 24 * time.Hour
	missedPage        = 200 // messages per request; Slack recommends no more
	maxListed         = 10  // pages of conversations

	kindsOfConversations = 4
	missedTries          = 3
	maxUnreadable        = 3           // failed places before the rest is postponed
	mostBehind           = time.Minute // delay until then
)

// arrive begins a connection: it finds out where the app is, and reads what was missed. Events wait meanwhile. After a brief gap it
// looks for new replies to older messages only where that needs no further request.
func (a *app) arrive(brief bool) {
	a.date()
	member := a.list()
	gaps, beyond := a.memory.gaps(member, a.apps.directory.isDirect)
	for i := range gaps {
		gaps[i].brief = brief && !a.isPostponed(gaps[i].place.chat)
	}
	if beyond > 0 {
		a.unread("too many conversations with missed messages; skipping the rest", "conversations", beyond)
	}
	a.catchUp(gaps)
	if a.memory.newest == 0 { // from now on nothing is to be missed, even before the first message
		a.mu.Lock()
		a.memory.newest = a.joined
		a.mu.Unlock()
	}
}

// date limits what is made up for in direct conversations to what was written since the app was added.
func (a *app) date() {
	if a.memory.dated || a.apps.o.FirstSeen == nil {
		return
	}
	agent := ""
	if own, known := a.apps.Registry().Account(a.own.ID); known {
		agent = own.AgentID
	}
	since := a.apps.o.FirstSeen(a.own.ID, agent) * 1000
	if since == 0 {
		since = a.joined
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.memory.dated = true; a.memory.oldest > 0 {
		a.memory.oldest = max(a.memory.oldest, since)
	}
}

// list requests the conversations that the app is in. Without the right to list a kind of them, those are found by their
// messages only.
func (a *app) list() (member []string) {
	missing := a.current().Missing
	var types []string
	for _, t := range [][2]string{{"public_channel", "channels:read"}, {"private_channel", "groups:read"}, {"im", "im:read"}, {"mpim", "mpim:read"}} {
		if !strings.Contains(missing, t[1]) {
			types = append(types, t[0])
		}
	}
	complete, before := len(types) == kindsOfConversations, a.apps.known()
	args := url.Values{"types": {strings.Join(types, ",")}, "exclude_archived": {"true"}, "limit": {strconv.Itoa(missedPage)}}
	for pages := 0; len(types) > 0; pages++ {
		if pages == maxListed {
			a.unread("the app is in too many conversations; what was missed in the rest is read only where it has received something", "listed", len(member))
			return member
		}
		page, refused := a.page("list conversations", "", "users.conversations", args)
		if refused != nil {
			a.log.Warn("cannot list the app's conversations", "err", refused)
			return member
		}
		for _, c := range page.Channels {
			a.apps.directory.addChannel(c, a.team())
			a.seat.set(c.ID, true)
			member = append(member, c.ID)
		}
		if page.Next.Cursor == "" {
			if complete {
				for _, chat := range before { // it was there before the list was asked for
					if !slices.Contains(member, chat) {
						a.seat.set(chat, false)
					}
				}
			}
			a.apps.addKnown(member)
			return member
		}
		args.Set("cursor", page.Next.Cursor)
	}
	return member
}

// catchUp reads and delivers what was written during a disconnection, place by place. In a conversation that cannot be
// read for now, events wait with the rest: nothing newer is delivered before what was missed, so that continuing from
// the last message after a restart misses nothing. Slack tells them again later, because they are not acknowledged, and
// what it has given up is read with the rest.
func (a *app) catchUp(gaps []missed) {
	for _, c := range a.behind {
		if !slices.ContainsFunc(gaps, func(other missed) bool { return other.place == c.place }) {
			gaps = append(gaps, c)
		}
	}
	var failed []missed
	var why *channel.Error
	for i, c := range gaps {
		if a.ctx.Err() != nil {
			return
		}
		if len(failed) == maxUnreadable {
			failed = append(slices.Clone(gaps[i:]), failed...) // these first, the next time
			break
		}
		refused := a.read(c)
		switch {
		case refused == nil, refused.Class == collaborate.ClassForbidden, refused.Class == collaborate.ClassNotFound: // what it may not read is not missed
		case a.ctx.Err() != nil:
			return
		default:
			failed, why = append(failed, c), refused
		}
	}
	if a.behind = failed; len(failed) == 0 {
		a.fails = 0
		return
	}
	if a.fails++; a.fails == 1 {
		a.unread("cannot read missed messages; will retry", "err", why, "conversations", len(failed))
	}
	a.catchUpLater(max(why.Failure.RetryAfter, min(a.apps.o.Retries().After(a.fails+1), mostBehind)))
}

// catchUpLater makes fold read the rest after a delay.
func (a *app) catchUpLater(wait time.Duration) {
	if a.later != nil {
		a.later.Stop()
	}
	a.later = a.apps.o.AfterFunc(a.apps.o.Jitter(wait), func() { signal(a.again) })
}

// isPostponed reports whether a conversation's events have to wait until what was missed there is read.
func (a *app) isPostponed(chat string) bool {
	return slices.ContainsFunc(a.behind, func(c missed) bool { return c.place.chat == chat })
}

// read reads one conversation or thread, and delivers what it finds in the order in which it was written: then what is
// missing after a kill in between is newer than all marks.
func (a *app) read(c missed) *channel.Error {
	all, refused := a.gather(c)
	if refused != nil {
		return refused
	}
	for i := range all {
		m := &all[i]
		m.Channel = c.place.chat
		delivered := a.message(m, true)
		if a.ctx.Err() != nil {
			return nil
		}
		if !delivered {
			return unsettled(a.own.ID, c.place.id())
		}
	}
	return nil
}

// errUnsettled is the error of a message that cannot be judged yet.
var errUnsettled = errors.New("it is not known yet how a message was posted")

func unsettled(account, place string) *channel.Error {
	f := collaborate.Failure{Status: http.StatusServiceUnavailable}
	return &channel.Error{Deed: "read missed messages", AccountID: account, PlaceID: place, Failure: f, Class: collaborate.Classify(f), Local: true, Err: errUnsettled}
}

// gather is what was written in a place after its mark, oldest first. Slack does not list threads: a message from before
// the mark says when it was last replied to, so those of the last days are looked at too.
func (a *app) gather(c missed) (all []messageShape, refused *channel.Error) {
	if c.place.thread != "" {
		return a.since(c.place, c.after, c.after, maxOlderPages)
	}
	older := maxOlderPages
	if c.brief {
		older = 1
	}
	roots, refused := a.since(c.place, max(c.after-threadMemory.Microseconds(), 0), c.after, older)
	if refused != nil {
		return nil, refused
	}
	threads := map[string]int64{}
	maps.Copy(threads, c.threads)
	for i := range roots {
		root := &roots[i]
		if stamp(root.TS) > c.after {
			all = append(all, *root)
		}
		after := c.after
		if mark, known := a.memory.marks[place{chat: c.place.chat, thread: root.TS}.id()]; known {
			after = mark
		}
		if delete(threads, root.TS); stamp(root.LatestReply) > after {
			threads[root.TS] = after
		}
	}
	for _, root := range slices.Sorted(maps.Keys(threads)) {
		replies, refused := a.since(place{chat: c.place.chat, thread: root}, threads[root], threads[root], maxOlderPages)
		switch {
		case refused == nil:
			all = append(all, replies...)
		case refused.Class != collaborate.ClassNotFound: // its first message was deleted
			return nil, refused
		}
	}
	sortByTime(all)
	return all, nil
}

func sortByTime(all []messageShape) {
	slices.SortFunc(all, func(x, y messageShape) int { return cmp.Compare(stamp(x.TS), stamp(y.TS)) })
}

// since are the messages of a conversation after a time, or the replies in a thread, oldest first. Slack has the newest
// ones of a conversation on its first page. If there are too many, those after mark are counted as unread; of those that end
// before it, at most so many pages are read.
func (a *app) since(in place, oldest, mark int64, mostOlder int) (all []messageShape, refused *channel.Error) {
	method, args := reading(in)
	args.Set("oldest", stampOf(oldest))
	args.Set("limit", strconv.Itoa(missedPage))
	args.Set("include_all_metadata", "true")
	older := 0 // pages that end before the mark
	for pages := 0; ; pages++ {
		if older == mostOlder {
			break
		}
		if older == 0 && pages == maxMissedPages {
			a.unread("too many missed messages in a conversation; skipping the rest", "conversation", in.id())
			break
		}
		page, refused := a.page("read missed messages", in.id(), method, args)
		if refused != nil {
			return nil, refused
		}
		for i := range page.Messages {
			if stamp(page.Messages[i].TS) > oldest { // the first message of a thread is always there
				all = append(all, page.Messages[i])
			}
		}
		if page.Next.Cursor == "" {
			break
		}
		if in.thread == "" && len(page.Messages) > 0 && stamp(page.Messages[len(page.Messages)-1].TS) <= mark {
			older++
		}
		args.Set("cursor", page.Next.Cursor)
	}
	sortByTime(all)
	return all, nil
}

// page makes a request that reads, and repeats it if it fails for a moment.
func (a *app) page(deed, place, method string, args url.Values) (page pageShape, refused *channel.Error) {
	for try := 1; ; try++ {
		var got answer
		got, refused = a.ask(a.ctx, deed, place, method, args)
		if refused == nil {
			if err := json.Unmarshal(got.body, &page); err != nil {
				return page, unreadable(deed, a.own.ID, place, err)
			}
			return page, nil
		}
		wait := max(refused.Failure.RetryAfter, a.apps.o.Least<<(try-1))
		if !passing(refused.Class) || try == missedTries || a.fails > 0 || wait > collaborate.LongestWait || channel.Rest(a.ctx, a.apps.o.AfterFunc, wait) != nil {
			return page, refused
		}
	}
}

func (a *app) unread(why string, of ...any) {
	a.status.Update(func(s *health.Bot) { s.Unread++ })
	a.log.Warn(why, of...)
}

func (a *app) fetched() { a.status.Update(func(s *health.Bot) { s.Fetched++ }) }
