package server

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/pronto-lab/openclawd/channel/inbound"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/collaborate"
	"github.com/pronto-lab/openclawd/coordination/delivery"
	"github.com/pronto-lab/openclawd/coordination/response"
	"github.com/pronto-lab/openclawd/discord/discordtest"
	"github.com/pronto-lab/openclawd/eventstore"
)

// talkJudge compares a log with Discord's own record.
type talkJudge struct {
	posts    map[string]*posting       // by effect id
	sent     map[string]string         // effect ids by message
	threads  map[string]string         // effect ids by thread
	decided  map[string]map[string]int // how often it was decided about a message, by agent
	handled  map[string]bool           // roots of runs that answer a message
	runs     map[string]*repeated      // by root
	roots    map[string]string         // by run
	requests map[string]*talkRequest   // by id
	refused  int                       // requests that were not taken on
	trails   map[string][]string       // events of work, by stream, to explain a failure of the test
	counts   map[string]int            // of what has happened
	broken   []string                  // rules, how
}

func newTalkJudge() *talkJudge {
	return &talkJudge{posts: map[string]*posting{}, sent: map[string]string{}, threads: map[string]string{}, decided: map[string]map[string]int{},
		handled: map[string]bool{}, runs: map[string]*repeated{}, roots: map[string]string{}, requests: map[string]*talkRequest{}, trails: map[string][]string{}, counts: map[string]int{}}
}

// posting is a delivery as the log tells of it.
type posting struct {
	effect string
	what   delivery.Delivery
	thread string   // that was opened
	sent   []string // messages, in order
	end    string   // "": it goes on
	shown  string   // event that reports an unknown result; "" for none
	broken bool     // the next step was under way when the server was killed
	looks  int      // for what that step may have done, in vain
}

// Ends of postings.
const (
	postDone      = "done"
	postFailed    = "failed"
	postUnknown   = "unknown"
	postCancelled = "cancelled"
)

// mayStand says whether something of it may stand in Discord of which the log does not tell.
func (p *posting) mayStand() bool {
	return p.end == "" || p.end == postUnknown || p.end == postCancelled
}

func (p *posting) nonce(i int) string { return p.what.Nonce(p.effect, p.what.Place(p.thread), i) }

// repeated is a run with those that repeat it.
type repeated struct {
	queued []string
	ends   map[string]string // types of events by run
	said   []string          // effects of what was to be posted of it
}

// talkRequest is a request of one agent to another.
type talkRequest struct {
	matter                               string // that it is about
	asked, sent, failed, unknown         int
	tracked                              bool
	responded, told, unreported, dropped int         // dropped: given up after it was sent
	reminded                             map[int]int // by step
}

func (j *talkJudge) breaks(format string, args ...any) {
	j.broken = append(j.broken, fmt.Sprintf(format, args...))
}

// trail is what has happened to a delivery.
func (j *talkJudge) trail(effect string) string {
	return strings.Join(j.trails[coordination.WorkStream(effect)], "\n")
}

// read takes up events, in the order of the log.
func (j *talkJudge) read(events []eventstore.Event) error {
	for i := range events {
		e := &events[i]
		if err := j.take(e); err != nil {
			return fmt.Errorf("event %d, %s: %w", e.Seq, e.Type, err)
		}
	}
	return nil
}

func (j *talkJudge) take(e *eventstore.Event) error {
	if strings.HasPrefix(e.Stream, "work/") {
		j.trails[e.Stream] = append(j.trails[e.Stream], fmt.Sprintf("%d at %d: %s %.500s", e.Seq, e.TS, e.Type, e.Data))
	}
	switch e.Type {
	case coordination.TypeWorkScheduled:
		return takeAs(e, j.scheduled)
	case coordination.TypeWorkCompleted, coordination.TypeWorkDead, coordination.TypeWorkCancelled, coordination.TypeWorkLeaseExpired:
		return takeAs(e, func(d *coordination.WorkAttempt) { j.attempted(e.Type, d) })
	case coordination.TypeThreadCreated:
		return takeAs(e, j.opened)
	case coordination.TypeDiscordSent:
		return takeAs(e, j.posted)
	case coordination.TypeDiscordSendFailed:
		return takeAs(e, j.notPosted)
	case coordination.TypeDiscordInboundHandled, coordination.TypeDiscordInboundObserved, coordination.TypeDiscordInboundDropped:
		return takeAs(e, func(d *coordination.DiscordInbound) { j.heard(e, d) })
	case coordination.TypeRunQueued:
		return takeAs(e, j.queued)
	case coordination.TypeRunEnded, coordination.TypeRunFailed, coordination.TypeRunAborted, coordination.TypeRunTimedOut:
		return takeAs(e, func(d *coordination.RunOver) { j.runs[j.roots[d.RunID]].ended(j, e.Type, d) })
	case coordination.TypeDiscordDeliveryUnknown:
		if !strings.HasPrefix(e.Stream, collabStreams) {
			return takeAs(e, func(d *coordination.DiscordOutbound) { j.posts[d.EffectID].shown = e.ID.String() })
		}
	}
	if strings.HasPrefix(e.Stream, collabStreams) {
		return j.takeRequest(e)
	}
	return nil
}

// collabStreams begins the streams of requests.
const collabStreams = "collab/"

// takeAs reads what an event says.
func takeAs[D any](e *eventstore.Event, take func(*D)) error {
	var d D
	if err := json.Unmarshal(e.Data, &d); err != nil {
		return err
	}
	take(&d)
	return nil
}

func (j *talkJudge) scheduled(d *coordination.WorkScheduled) {
	if d.Kind != delivery.Kind {
		return
	}
	p := &posting{effect: d.EffectID}
	if err := json.Unmarshal(d.Payload, &p.what); err != nil || j.posts[d.EffectID] != nil {
		j.breaks("%s is asked for twice, or cannot be read: %v", d.EffectID, err)
	}
	j.posts[d.EffectID] = p
	j.counts["asked: "+p.what.Purpose]++
	if p.what.Purpose == delivery.Reply || p.what.Purpose == delivery.Notice && p.what.RunID != "" {
		if r := j.runs[j.roots[p.what.RunID]]; r != nil {
			r.said = append(r.said, d.EffectID)
		}
	}
}

// attempted takes up what became of an attempt at a delivery.
func (j *talkJudge) attempted(typ string, d *coordination.WorkAttempt) {
	p := j.posts[d.EffectID]
	switch {
	case p == nil:
		return
	case typ == coordination.TypeWorkCancelled && (p.end == postFailed || p.end == postUnknown): // it was answered all the same
		j.counts["ended: "+p.what.Purpose+" "+p.end+", and not needed any more"]++
		p.end = postCancelled
		return
	case p.end != "":
		j.breaks("%s is over: %s, and then %s", d.EffectID, p.end, typ)
		return
	}
	switch typ {
	case coordination.TypeWorkLeaseExpired:
		p.broken = true
		j.counts["broken off"]++
		return
	case coordination.TypeWorkCompleted:
		p.end = postDone
		if len(p.sent) < len(p.what.Messages) && p.what.Route != collaborate.RouteReused {
			j.breaks("%s is done with %d of %d messages", p.effect, len(p.sent), len(p.what.Messages))
		}
	case coordination.TypeWorkCancelled:
		p.end = postCancelled
	default:
		p.end = postFailed
		if p.shown != "" {
			p.end = postUnknown
		}
	}
	j.counts["ended: "+p.what.Purpose+" "+p.end]++
}

func (j *talkJudge) opened(d *coordination.Thread) {
	p := j.posts[d.EffectID]
	switch {
	case p == nil || p.what.Open == nil:
		j.breaks("thread %s was opened by %q, which is no delivery that opens one", d.ThreadID, d.EffectID)
		return
	case p.thread != "":
		j.breaks("%s has opened threads %s and %s", d.EffectID, p.thread, d.ThreadID)
	case j.threads[d.ThreadID] != "":
		j.breaks("thread %s was opened by %s and by %s", d.ThreadID, j.threads[d.ThreadID], d.EffectID)
	}
	p.thread, p.broken, p.looks = d.ThreadID, false, 0
	j.threads[d.ThreadID] = d.EffectID
}

func (j *talkJudge) posted(d *coordination.DiscordOutbound) {
	p := j.posts[d.EffectID]
	if p == nil || p.end != "" || d.Index != len(p.sent) || j.sent[d.MessageID] != "" || d.Nonce != p.nonce(d.Index) {
		j.breaks("message %d of %s, %s, with nonce %s, was not to be posted: %+v; it belongs to %q", d.Index, d.EffectID, d.MessageID, d.Nonce, p, j.sent[d.MessageID])
		return
	}
	p.sent, p.broken, p.looks = append(p.sent, d.MessageID), false, 0
	j.sent[d.MessageID] = d.EffectID
	if d.Found {
		j.counts["found"]++
	}
}

func (j *talkJudge) notPosted(d *coordination.DiscordOutbound) {
	p := j.posts[d.EffectID]
	switch {
	case p == nil:
		j.breaks("%s was never requested", d.EffectID)
	case d.Step == delivery.StepLook:
		p.looks++
		j.counts["could not look"]++
	}
}

// heard takes up a decision.
func (j *talkJudge) heard(e *eventstore.Event, d *coordination.DiscordInbound) {
	agents := d.Agents
	if len(agents) == 0 {
		agents = []string{e.AgentID}
	}
	if j.decided[d.MessageID] == nil {
		j.decided[d.MessageID] = map[string]int{}
	}
	for _, a := range agents {
		if j.decided[d.MessageID][a]++; j.decided[d.MessageID][a] > 1 {
			j.breaks("it was decided twice what message %s is to %s", d.MessageID, a)
		}
	}
	if e.Type == coordination.TypeDiscordInboundHandled {
		root := inbound.RunID(d.MessageID, e.AgentID)
		j.handled[root] = true
		if d.RunID != root {
			j.breaks("%s handles message %s with run %q", e.AgentID, d.MessageID, d.RunID)
		}
		j.counts["handled"]++
	}
}

func (j *talkJudge) queued(d *coordination.RunQueued) {
	root := cmp.Or(d.RetryOf, d.RunID)
	r := j.runs[root]
	if r == nil {
		r = &repeated{ends: map[string]string{}}
		j.runs[root] = r
	}
	if j.roots[d.RunID] != "" {
		j.breaks("run %s is asked for twice", d.RunID)
	}
	if len(r.queued) > 0 {
		j.counts["repeated runs"]++
		if last := r.queued[len(r.queued)-1]; d.RetryOf == "" || r.ends[last] != coordination.TypeRunAborted {
			j.breaks("run %s repeats %s, which was not broken off: %s", d.RunID, last, r.ends[last])
		}
	}
	r.queued = append(r.queued, d.RunID)
	j.roots[d.RunID] = root
}

func (r *repeated) ended(j *talkJudge, typ string, d *coordination.RunOver) {
	if r.ends[d.RunID] != "" {
		j.breaks("run %s is over: %s, and then %s", d.RunID, r.ends[d.RunID], typ)
	}
	r.ends[d.RunID] = typ
}

// unanswered is how many runs are not over.
func (j *talkJudge) unanswered() (n int) {
	for _, r := range j.runs {
		if r.ends[r.queued[len(r.queued)-1]] == "" {
			n++
		}
	}
	return n
}

// takeRequest takes up what becomes of a request.
func (j *talkJudge) takeRequest(e *eventstore.Event) error {
	var d struct {
		coordination.A2ACollaborate
		Quiet bool `json:"quiet"`
	}
	if err := json.Unmarshal(e.Data, &d); err != nil {
		return err
	}
	q := j.requests[d.CollabID]
	if q == nil {
		q = &talkRequest{reminded: map[int]int{}}
		if e.Type == coordination.TypeA2ACollaborateFailed {
			j.counts["refused: "+d.ErrorCode]++
			j.refused++
			return nil
		}
		j.requests[d.CollabID] = q
	}
	switch e.Type {
	case coordination.TypeA2ACollaborateRequested:
		q.asked++
		if found := askedOf.FindStringSubmatch(d.Message); found != nil {
			q.matter = found[1]
		}
	case coordination.TypeA2ACollaborateSent:
		q.sent++
		q.tracked = d.Tracked
	case coordination.TypeDiscordDeliveryUnknown:
		q.unknown++
	case coordination.TypeA2ACollaborateFailed:
		switch {
		case q.sent > 0:
			q.dropped++
		case !d.Redecide:
			q.failed++
		}
	case coordination.TypeA2ACollaborateResponded:
		q.responded++
		j.counts[map[bool]string{false: "answered", true: "answered late"}[d.Late]]++
	case coordination.TypeCollabReminded:
		q.reminded[d.Attempt]++
		j.counts[fmt.Sprintf("reminded, step %d, %s", d.Attempt, cmp.Or(d.ErrorCode, "posted"))]++
	case coordination.TypeCollabEscalated:
		if d.ErrorCode == "" || d.Quiet {
			q.told++
		} else {
			q.unreported++
		}
		j.counts["escalated, "+cmp.Or(d.ErrorCode, "posted")]++
	}
	for step, n := range q.reminded {
		if n > 1 {
			j.breaks("%s was reminded of %d times at step %d", d.CollabID, n, step)
		}
	}
	if q.sent+q.failed+q.unknown > 1 || q.responded > 1 || q.told > 1 {
		j.breaks("request %s has more than one end, or answer, or escalation: %+v", d.CollabID, *q)
	}
	return nil
}

// discordRecord is what Discord has of itself.
type discordRecord struct {
	messages []discordtest.Message // of people and bots, place by place, each in order
	threads  []discordtest.Channel
	requests []discordtest.Request
	users    map[string]string // ids of bots by account
	unknown  int               // messages in Discord that the log does not know
}

// holds holds what was read against Discord. Nothing may be under way.
func (j *talkJudge) holds(d *discordRecord) {
	type place struct {
		*posting
		index int
	}
	asked := map[string][]place{} // by nonce: a request that has failed, and is made again, has the same one
	for _, p := range j.posts {
		for i := range p.what.Messages {
			asked[p.nonce(i)] = append(asked[p.nonce(i)], place{p, i})
		}
	}
	standing, nonces, matters := map[string]bool{}, map[string]string{}, map[string]string{}
	for _, m := range d.messages {
		if !m.Author.Bot {
			continue
		}
		standing[m.ID] = true
		var nonce string
		_ = json.Unmarshal(m.Nonce, &nonce) // none is of no delivery
		if before := nonces[nonce+m.Author.ID]; before != "" {
			j.breaks("%s and %s are the same message of %s: %.60q", before, m.ID, m.Author.Username, m.Content)
		}
		nonces[nonce+m.Author.ID] = m.ID
		if found := askedOf.FindStringSubmatch(m.Content); found != nil {
			if before := matters[found[1]]; before != "" {
				j.breaks("%s and %s both ask of %s", before, m.ID, found[1])
			}
			matters[found[1]] = m.ID
		}
		if effect := j.sent[m.ID]; effect != "" {
			if !slices.ContainsFunc(asked[nonce], func(p place) bool { return p.effect == effect }) {
				j.breaks("message %s, %.60q, was taken for that of %s, and is not:\n%s", m.ID, m.Content, effect, j.trail(effect))
			}
			continue
		}
		mayStand, over := false, true
		for _, p := range asked[nonce] {
			if p.index < len(p.sent) {
				j.breaks("message %d of %s stands there as %s, and as %s:\n%s", p.index, p.effect, p.sent[p.index], m.ID, j.trail(p.effect))
			}
			mayStand, over = mayStand || p.mayStand(), over && p.end != ""
		}
		switch {
		case len(asked[nonce]) == 0:
			j.breaks("message %s of %s is of no delivery: %.60q", m.ID, m.Author.Username, m.Content)
		case !mayStand:
			p := asked[nonce][0]
			j.breaks("message %d of %s, %s, stands there although it is %s:\n%s", p.index, p.effect, m.ID, p.end, j.trail(p.effect))
		case over:
			d.unknown++
		}
	}
	for id, effect := range j.sent {
		if !standing[id] {
			j.breaks("message %s of %s does not stand there", id, effect)
		}
	}
	for _, p := range j.posts {
		if !slices.IsSortedFunc(p.sent, func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) }) {
			j.breaks("the messages of %s stand there as %v", p.effect, p.sent)
		}
		if p.end == postUnknown {
			j.cannotBeKnown(d, p)
		}
	}
	j.holdsThreads(d)
}

// holdsThreads holds the threads that bots have opened against those that the log knows of.
func (j *talkJudge) holdsThreads(d *discordRecord) {
	bots := slices.Collect(maps.Values(d.users))
	doubtful := map[string]int{}
	for _, p := range j.posts {
		if p.what.Open != nil && p.thread == "" && p.mayStand() {
			doubtful[p.what.ChannelID+" "+d.users[p.what.AccountID]+" "+p.what.Open.Name]++
		}
	}
	standing := map[string]bool{}
	for _, t := range d.threads {
		standing[t.ID] = true
		if !slices.Contains(bots, t.OwnerID) || j.threads[t.ID] != "" {
			continue
		}
		key := *t.ParentID + " " + t.OwnerID + " " + t.Name
		if doubtful[key]--; doubtful[key] < 0 {
			j.breaks("thread %s, %q, was opened without a request, or opened twice", t.ID, t.Name)
		}
	}
	for id, effect := range j.threads {
		if !standing[id] {
			j.breaks("thread %s of %s does not stand there", id, effect)
		}
	}
}

// cannotBeKnown checks that a result reported as unknown could not be known: it may have been done, or its step was under way when the
// server was killed, and the lookup had no answer.
func (j *talkJudge) cannotBeKnown(d *discordRecord, p *posting) {
	bot, nonce, vain := d.users[p.what.AccountID], "", 0
	opens := p.what.Open != nil && p.thread == ""
	if !opens {
		nonce = p.nonce(len(p.sent))
	}
	mayBe := p.broken
	for _, r := range d.requests {
		switch {
		case r.Bot != bot:
		case opens && r.Route == openingThreads && r.Channel == p.what.ChannelID && strings.Contains(string(r.Body), p.what.Open.Name),
			!opens && r.Route == postingMessages && r.Nonce == nonce:
			mayBe = mayBe || r.Status < 400 || r.Status >= 500
		case opens && r.Route == listingThreads, !opens && r.Route == listingMessages && r.Channel == p.what.Place(p.thread):
			if r.Status != http.StatusOK {
				vain++
			}
		}
	}
	if !mayBe || vain == 0 || p.looks == 0 {
		j.breaks("%s might have been known: it may have been done: %t; %d requests of those who looked were in vain, %d of them by the log:\n%s", p.effect, mayBe,
			vain, p.looks, j.trail(p.effect))
	}
}

// Routes of Discord.
const (
	postingMessages = "POST /channels/{channel}/messages"
	openingThreads  = "POST /channels/{channel}/threads"
	listingMessages = "GET /channels/{channel}/messages"
	listingThreads  = "GET /guilds/{guild}/threads/active"
)

// matter is what a person has written to an agent.
type matter struct {
	name    string // k1, k2, ...
	message string // id
	agent   string
	asks    bool // to ask another one
}

// finds judges what must be so when nothing is left to do.
func (j *talkJudge) finds(matters []matter, agents []string) {
	requests := map[string][]*talkRequest{}
	for id, q := range j.requests {
		requests[q.matter] = append(requests[q.matter], q)
		if q.sent+q.failed+q.unknown != 1 {
			j.breaks("request %s has not ended once: %+v", id, *q)
		}
		if q.sent == 1 && q.tracked && q.responded == 0 && q.told == 0 && q.dropped == 0 && q.unreported < response.MaxEscalate {
			j.breaks("request %s was forgotten: %+v", id, *q)
		}
	}
	for _, p := range j.posts {
		if p.end == "" {
			j.breaks("delivery %s was forgotten: %d of %d messages", p.effect, len(p.sent), len(p.what.Messages))
		}
	}
	for root := range j.handled {
		if j.runs[root] == nil {
			j.breaks("run %s was never asked for", root)
		}
	}
	for root, r := range j.runs {
		for i, id := range r.queued {
			if end := r.ends[id]; end == "" || i < len(r.queued)-1 && end != coordination.TypeRunAborted {
				j.breaks("run %s, number %d of %s, has ended with %q", id, i+1, root, end)
			}
		}
		if len(r.said) > 1 {
			j.breaks("%s was answered with %v", root, r.said)
		}
		j.counts["run: "+r.ends[r.queued[len(r.queued)-1]]]++
	}
	unasked := 0
	for _, m := range matters {
		for _, agent := range agents {
			if n := j.decided[m.message][agent]; n != 1 {
				j.breaks("%s, message %s to %s: %d decisions about %s", m.name, m.message, m.agent, n, agent)
			}
		}
		r := j.runs[inbound.RunID(m.message, m.agent)]
		switch {
		case r == nil:
			j.breaks("%s, message %s to %s, was not handled", m.name, m.message, m.agent)
			continue
		case len(r.said) != 1:
			j.breaks("%s, message %s to %s, has the answers %v", m.name, m.message, m.agent, r.said)
		}
		held := 0
		for _, q := range requests[m.name] {
			held += q.sent + q.unknown
		}
		switch {
		case held > 1:
			j.breaks("%s was asked %d times", m.name, held)
		case m.asks && len(requests[m.name]) == 0 && r.ends[r.queued[len(r.queued)-1]] == coordination.TypeRunEnded:
			unasked++
		}
	}
	if unasked > j.refused {
		j.breaks("%d requests were never taken on, and %d were refused", unasked, j.refused)
	}
}

// lines are all counts.
func (j *talkJudge) lines() string {
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(j.counts)) {
		lines = append(lines, fmt.Sprintf("%s: %d", name, j.counts[name]))
	}
	return strings.Join(lines, "\n")
}
